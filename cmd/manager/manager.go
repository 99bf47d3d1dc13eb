package main

import (
	"context"
	"fmt"
	goruntime "runtime"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	capiflags "sigs.k8s.io/cluster-api/util/flags"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
)

// leaderLease is the name of the lease; it carries the group, so that it is unique in a namespace that several providers share.
const leaderLease = "controller-leader-election-capc." + infrav1.GroupName

// start makes the manager with everything in it and runs it until the context ends.
func start(ctx context.Context, o *options) error {
	config, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("finding the API server: %w", err)
	}
	config.QPS, config.Burst = o.kube.qps, o.kube.burst
	config.UserAgent = "capc-manager"
	mo, err := managerOptions(o)
	if err != nil {
		return err
	}
	mgr, err := ctrl.NewManager(config, mo)
	if err != nil {
		return fmt.Errorf("making the manager: %w", err)
	}
	p, err := newPipeline(o)
	if err != nil {
		return err
	}
	for _, add := range []func() error{
		func() error { return p.addTo(mgr) },
		func() error { return addControllers(ctx, mgr, o, p) },
		func() error { return addWebhooks(mgr, o) },
		func() error { return addHooks(mgr, o) },
		func() error { return addChecks(mgr, o) },
	} {
		if err := add(); err != nil {
			return err
		}
	}
	if err := mgr.Start(ctx); err != nil {
		return fmt.Errorf("running the manager: %w", err)
	}
	return nil
}

// newScheme knows every kind that is read or written.
func newScheme() (*runtime.Scheme, error) {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{scheme.AddToScheme, clusterv1.AddToScheme, infrav1.AddToScheme} {
		if err := add(s); err != nil {
			return nil, fmt.Errorf("building the scheme: %w", err)
		}
	}
	return s, nil
}

func managerOptions(o *options) (ctrl.Options, error) {
	s, err := newScheme()
	if err != nil {
		return ctrl.Options{}, err
	}
	tlsOptions, metrics, err := capiflags.GetManagerOptions(o.manager)
	if err != nil {
		return ctrl.Options{}, fmt.Errorf("reading the TLS and diagnostics flags: %w", err)
	}
	if o.contentionProfiling {
		goruntime.SetBlockProfileRate(1)
	}
	mo := ctrl.Options{
		Scheme:                        s,
		LeaderElection:                o.leader.elect,
		LeaderElectionID:              leaderLease,
		LeaderElectionReleaseOnCancel: true,
		LeaseDuration:                 &o.leader.leaseDuration,
		RenewDeadline:                 &o.leader.renewDeadline,
		RetryPeriod:                   &o.leader.retryPeriod,
		HealthProbeBindAddress:        o.healthAddr,
		PprofBindAddress:              o.profilerAddr,
		Metrics:                       *metrics,
		Cache:                         cache.Options{SyncPeriod: &o.kube.syncPeriod},
		// Secrets are read when they are needed, so that the manager holds no others' in memory.
		Client: client.Options{Cache: &client.CacheOptions{DisableFor: []client.Object{&corev1.Secret{}, &corev1.ConfigMap{}}, Unstructured: true}},
	}
	if o.kube.namespace != "" {
		mo.Cache.DefaultNamespaces = map[string]cache.Config{o.kube.namespace: {}}
	}
	if o.webhook.port != 0 {
		mo.WebhookServer = webhook.NewServer(webhook.Options{
			Port: o.webhook.port, CertDir: o.webhook.certDir, CertName: o.webhook.certName, KeyName: o.webhook.keyName, TLSOpts: tlsOptions,
		})
	}
	return mo, nil
}

// addChecks makes the manager healthy and ready once its webhooks are served.
func addChecks(mgr ctrl.Manager, o *options) error {
	check := healthz.Ping
	if o.webhook.port != 0 {
		check = mgr.GetWebhookServer().StartedChecker()
	}
	if err := mgr.AddReadyzCheck("webhook", check); err != nil {
		return fmt.Errorf("adding the readiness check: %w", err)
	}
	if err := mgr.AddHealthzCheck("webhook", check); err != nil {
		return fmt.Errorf("adding the health check: %w", err)
	}
	return nil
}
