package main

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	capiflags "sigs.k8s.io/cluster-api/util/flags"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/capcat/capcat/controllers/catalog"
	"github.com/capcat/capcat/controllers/cloudstack"
	"github.com/capcat/capcat/controllers/cluster"
	"github.com/capcat/capcat/controllers/image"
	"github.com/capcat/capcat/controllers/machine"
	"github.com/capcat/capcat/controllers/machinetemplate"
	"github.com/capcat/capcat/controllers/upgrade"
	"github.com/capcat/capcat/controllers/webhook"
)

// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=cloudstackimages,verbs=get;list;watch;patch;update
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=cloudstackimages/status,verbs=get;patch;update
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=cloudstackimages/finalizers,verbs=update

// addControllers has the manager run a controller for each kind. They share the sessions, and so the bounds, of each account.
func addControllers(ctx context.Context, mgr ctrl.Manager, o *options, p *pipeline) error {
	sessions, err := cloudstack.NewSessions(cloudstack.Options{CallsPerSecond: o.cloud.qps, Burst: o.cloud.burst, Registerer: metrics.Registry})
	if err != nil {
		return err
	}
	if err := mgr.Add(sessions); err != nil {
		return fmt.Errorf("adding the CloudStack sessions: %w", err)
	}
	err = catalog.SetupWithManager(ctx, mgr, catalog.Options{
		Sessions: sessions, Concurrency: o.catalogConcurrency, WatchFilter: o.kube.watchFilter,
	})
	if err != nil {
		return err
	}
	if err := addClusterControllers(ctx, mgr, o, sessions); err != nil {
		return err
	}
	return image.SetupWithManager(ctx, mgr, image.Options{
		Sessions: sessions, Importer: p.importer, ServeURL: p.serveURL(), PublicHost: o.pipeline.publicHost(),
		Workers: o.pipeline.workers, Uploads: o.pipeline.uploads, Concurrency: o.imageConcurrency,
		Deadlines:   image.Deadlines{Orphan: o.pipeline.uploadPatience},
		WatchFilter: o.kube.watchFilter, Registerer: metrics.Registry,
	})
}

// addClusterControllers has the manager run what works on clusters and machines. Without Cluster API there are none: then
// images are all that is worked on, until the manager is started again.
func addClusterControllers(ctx context.Context, mgr ctrl.Manager, o *options, sessions *cloudstack.Sessions) error {
	_, err := mgr.GetRESTMapper().RESTMapping(clusterv1.GroupVersion.WithKind("Cluster").GroupKind(), clusterv1.GroupVersion.Version)
	if meta.IsNoMatchError(err) {
		ctrl.LoggerFrom(ctx).Info("The API server does not serve Cluster API's kinds, so clusters and machines are not worked on. Install Cluster API and restart",
			"kind", "Cluster", "apiVersion", clusterv1.GroupVersion.String())
		return nil
	}
	if err != nil {
		return fmt.Errorf("asking whether Cluster API is installed: %w", err)
	}
	err = cluster.SetupWithManager(ctx, mgr, cluster.Options{
		Sessions: sessions, Concurrency: o.clusterConcurrency, WatchFilter: o.kube.watchFilter,
	})
	if err != nil {
		return err
	}
	if err := upgrade.SetupWithManager(mgr, upgrade.Options{Concurrency: o.clusterConcurrency, WatchFilter: o.kube.watchFilter}); err != nil {
		return err
	}
	err = machinetemplate.SetupWithManager(ctx, mgr, machinetemplate.Options{
		Sessions: sessions, Concurrency: o.machineTemplateConcurrency, WatchFilter: o.kube.watchFilter,
	})
	if err != nil {
		return err
	}
	return machine.SetupWithManager(ctx, mgr, machine.Options{
		Sessions: sessions, Concurrency: o.machineConcurrency, WatchFilter: o.kube.watchFilter,
	})
}

// addWebhooks serves admission, unless the port is 0.
func addWebhooks(mgr ctrl.Manager, o *options) error {
	if o.webhook.port == 0 {
		return nil
	}
	return webhook.SetupWithManager(mgr)
}

// addHooks serves the runtime hooks of upgrades where they have an address.
func addHooks(mgr ctrl.Manager, o *options) error {
	host, port, err := o.webhook.extension()
	if err != nil || port == 0 {
		return err
	}
	tlsOptions, _, err := capiflags.GetManagerOptions(o.manager)
	if err != nil {
		return fmt.Errorf("reading the TLS flags: %w", err)
	}
	server, err := upgrade.NewServer(upgrade.NewGate(mgr.GetClient(), mgr.GetAPIReader(), nil), upgrade.ServerOptions{
		Host: host, Port: port, CertDir: o.webhook.certDir, CertName: o.webhook.certName, KeyName: o.webhook.keyName, TLSOpts: tlsOptions,
	})
	if err != nil {
		return err
	}
	if err := mgr.Add(server); err != nil {
		return fmt.Errorf("adding the server of runtime hooks: %w", err)
	}
	return nil
}
