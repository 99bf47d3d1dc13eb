package webhook

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/controllers/upgrade"
)

// SetupWithManager serves all webhooks of the provider: those that refuse, and the one that only warns.
func SetupWithManager(mgr manager.Manager) error {
	for kind, complete := range map[string]func() error{
		"TemplateCatalog": ctrl.NewWebhookManagedBy(mgr, &infrav1.TemplateCatalog{}).
			WithValidator(&TemplateCatalog{Images: mgr.GetClient()}).Complete,
		"CloudStackCluster": ctrl.NewWebhookManagedBy(mgr, &infrav1.CloudStackCluster{}).
			WithValidator(&Cluster{}).Complete,
		"CloudStackClusterTemplate": ctrl.NewWebhookManagedBy(mgr, &infrav1.CloudStackClusterTemplate{}).
			WithValidator(ClusterTemplates()).Complete,
		"CloudStackMachineTemplate": ctrl.NewWebhookManagedBy(mgr, &infrav1.CloudStackMachineTemplate{}).
			WithValidator(MachineTemplates()).Complete,
	} {
		if err := complete(); err != nil {
			return fmt.Errorf("setting up the webhook of %s: %w", kind, err)
		}
	}
	gate := upgrade.NewGate(mgr.GetClient(), mgr.GetAPIReader(), nil)
	mgr.GetWebhookServer().Register(upgradePath, &admission.Webhook{Handler: &Upgrade{Gate: gate}})
	return nil
}

// invalid is the refusal of an object, or nil when there is nothing to refuse.
func invalid(kind string, obj client.Object, errs field.ErrorList) error {
	if len(errs) == 0 {
		return nil
	}
	return apierrors.NewInvalid(infrav1.GroupVersion.WithKind(kind).GroupKind(), obj.GetName(), errs)
}
