package management

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

const injectFrom = "cert-manager.io/inject-ca-from"

// injector writes the authority of a Certificate into the objects of one kind whose annotation names it.
type injector struct {
	client client.Client
	object client.Object
	list   client.ObjectList
	// bundles are the places of an object that hold authorities.
	bundles func(client.Object) []*[]byte
}

func addInjectors(m ctrl.Manager) error {
	return errors.Join(
		addInjector(m, "inject-crds", &apiextensionsv1.CustomResourceDefinition{}, &apiextensionsv1.CustomResourceDefinitionList{}, conversionBundles),
		addInjector(m, "inject-mutating", &admissionv1.MutatingWebhookConfiguration{}, &admissionv1.MutatingWebhookConfigurationList{}, mutatingBundles),
		addInjector(m, "inject-validating", &admissionv1.ValidatingWebhookConfiguration{}, &admissionv1.ValidatingWebhookConfigurationList{}, validatingBundles),
	)
}

func addInjector(m ctrl.Manager, name string, o client.Object, list client.ObjectList, bundles func(client.Object) []*[]byte) error {
	i := &injector{client: m.GetClient(), object: o, list: list, bundles: bundles}
	return ctrl.NewControllerManagedBy(m).Named(name).For(o).
		Watches(newCertificate(), handler.EnqueueRequestsFromMapFunc(i.injected)).Complete(i)
}

// injected are the objects that name the Certificate.
func (i *injector) injected(ctx context.Context, certificate client.Object) []reconcile.Request {
	list := i.list.DeepCopyObject().(client.ObjectList)
	if err := i.client.List(ctx, list); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Objects that wait for an authority are not found")
		return nil
	}
	var all []reconcile.Request
	_ = meta.EachListItem(list, func(o runtime.Object) error {
		if o := o.(client.Object); o.GetAnnotations()[injectFrom] == certificate.GetNamespace()+"/"+certificate.GetName() {
			all = append(all, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(o)})
		}
		return nil
	})
	return all
}

func (i *injector) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	o := i.object.DeepCopyObject().(client.Object)
	if err := i.client.Get(ctx, req.NamespacedName, o); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	ca, err := i.authority(ctx, o.GetAnnotations()[injectFrom])
	if err != nil || ca == nil {
		return ctrl.Result{}, err
	}
	changed := false
	for _, b := range i.bundles(o) {
		if !bytes.Equal(*b, ca) {
			*b, changed = ca, true
		}
	}
	if !changed {
		return ctrl.Result{}, nil
	}
	return ctrl.Result{}, client.IgnoreNotFound(i.client.Update(ctx, o))
}

// authority returns nil when there is no certificate yet: its condition Ready wakes us.
func (i *injector) authority(ctx context.Context, from string) ([]byte, error) {
	namespace, name, ok := strings.Cut(from, "/")
	if !ok {
		return nil, nil
	}
	certificate := newCertificate()
	if err := i.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, certificate); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	secretName, _, err := unstructured.NestedString(certificate.Object, "spec", "secretName")
	if err != nil {
		return nil, fmt.Errorf("reading the name of the secret: %w", err)
	}
	var secret corev1.Secret
	if err := i.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: secretName}, &secret); err != nil {
		return nil, fmt.Errorf("reading the authority of %s: %w", from, err) // it comes soon
	}
	return secret.Data["ca.crt"], nil
}

func conversionBundles(o client.Object) []*[]byte {
	c := o.(*apiextensionsv1.CustomResourceDefinition).Spec.Conversion
	if c == nil || c.Webhook == nil || c.Webhook.ClientConfig == nil {
		return nil
	}
	return []*[]byte{&c.Webhook.ClientConfig.CABundle}
}

func mutatingBundles(o client.Object) []*[]byte {
	var all []*[]byte
	hooks := o.(*admissionv1.MutatingWebhookConfiguration).Webhooks
	for i := range hooks {
		all = append(all, &hooks[i].ClientConfig.CABundle)
	}
	return all
}

func validatingBundles(o client.Object) []*[]byte {
	var all []*[]byte
	hooks := o.(*admissionv1.ValidatingWebhookConfiguration).Webhooks
	for i := range hooks {
		all = append(all, &hooks[i].ClientConfig.CABundle)
	}
	return all
}
