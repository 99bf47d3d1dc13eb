package main

import (
	"context"
	"fmt"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/capcat/capcat/controllers/catalog"
	"github.com/capcat/capcat/controllers/cloudstack"
	"github.com/capcat/capcat/controllers/image"
	"github.com/capcat/capcat/controllers/machinetemplate"
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
	err = machinetemplate.SetupWithManager(ctx, mgr, machinetemplate.Options{
		Sessions: sessions, Concurrency: o.machineTemplateConcurrency, WatchFilter: o.kube.watchFilter,
	})
	if err != nil {
		return err
	}
	return image.SetupWithManager(ctx, mgr, image.Options{
		Sessions: sessions, Importer: p.importer, ServeURL: p.serveURL(), PublicHost: o.pipeline.publicHost(),
		Workers: o.pipeline.workers, Uploads: o.pipeline.uploads, Concurrency: o.imageConcurrency,
		WatchFilter: o.kube.watchFilter, Registerer: metrics.Registry,
	})
}

// addWebhooks serves admission, unless the port is 0.
func addWebhooks(mgr ctrl.Manager, o *options) error {
	if o.webhook.port == 0 {
		return nil
	}
	return webhook.SetupWithManager(mgr)
}
