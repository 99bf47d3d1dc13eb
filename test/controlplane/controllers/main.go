// Command controllers runs those controllers of kube-controller-manager that Cluster API's management needs: the collection of
// garbage, the end of namespaces, the aggregation of cluster roles, and the default service account of each namespace. They are
// Kubernetes' own; only the flags and the seventy other controllers are left out, which take most of the time to compile.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/controller-manager/pkg/informerfactory"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller/clusterroleaggregation"
	"k8s.io/kubernetes/pkg/controller/garbagecollector"
	"k8s.io/kubernetes/pkg/controller/namespace"
	"k8s.io/kubernetes/pkg/controller/serviceaccount"
)

const (
	workers = 10
	resync  = 10 * time.Minute
	// learnEvery is how often new kinds are looked for. kube-controller-manager takes half a minute, which is longer than the
	// clusters of a test live.
	learnEvery = 10 * time.Second
	qps        = 500
	burst      = 1000
)

func main() {
	kubeconfig := flag.String("kubeconfig", "", "path of the administrator's kubeconfig")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *kubeconfig); err != nil {
		fmt.Fprintln(os.Stderr, "controllers:", err)
		os.Exit(1)
	}
}

// shared is what all the controllers build upon.
type shared struct {
	client   kubernetes.Interface
	metadata metadata.Interface
	mapper   *restmapper.DeferredDiscoveryRESTMapper
	typed    informers.SharedInformerFactory
	all      informerfactory.InformerFactory
	started  chan struct{}
}

func run(ctx context.Context, kubeconfig string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return fmt.Errorf("reading the kubeconfig: %w", err)
	}
	config.QPS, config.Burst = qps, burst
	s, err := newShared(config)
	if err != nil {
		return err
	}
	var loops []func()
	for _, prepare := range []func(context.Context, *shared) ([]func(), error){garbage, namespaces, roles, accounts} {
		some, err := prepare(ctx, s)
		if err != nil {
			return err
		}
		loops = append(loops, some...)
	}
	s.typed.Start(ctx.Done())
	s.all.Start(ctx.Done())
	close(s.started)
	var running sync.WaitGroup
	for _, loop := range loops {
		running.Go(loop)
	}
	running.Wait()
	return nil
}

func newShared(config *rest.Config) (*shared, error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	meta, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client of metadata: %w", err)
	}
	s := &shared{client: client, metadata: meta, started: make(chan struct{})}
	s.mapper = restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(client.Discovery()))
	s.typed = informers.NewSharedInformerFactory(client, resync)
	s.all = informerfactory.NewInformerFactory(s.typed, metadatainformer.NewSharedInformerFactory(meta, resync))
	return s, nil
}

func garbage(ctx context.Context, s *shared) ([]func(), error) {
	collector, err := garbagecollector.NewGarbageCollector(ctx, s.client, s.metadata, s.mapper,
		garbagecollector.DefaultIgnoredResources(), s.all, s.started)
	if err != nil {
		return nil, fmt.Errorf("making the garbage collector: %w", err)
	}
	return []func(){
		func() { collector.Run(ctx, workers, learnEvery) },
		func() { collector.Sync(ctx, discovery.ServerResourcesInterface(s.client.Discovery()), learnEvery) },
	}, nil
}

func namespaces(ctx context.Context, s *shared) ([]func(), error) {
	c := namespace.NewNamespaceController(ctx, s.client, s.metadata, s.client.Discovery().ServerPreferredNamespacedResources,
		s.typed.Core().V1().Namespaces(), resync, corev1.FinalizerKubernetes)
	return []func(){func() { c.Run(ctx, workers) }}, nil
}

func roles(ctx context.Context, s *shared) ([]func(), error) {
	c := clusterroleaggregation.NewClusterRoleAggregation(s.typed.Rbac().V1().ClusterRoles(), s.client.RbacV1())
	return []func(){func() { c.Run(ctx, workers) }}, nil
}

func accounts(ctx context.Context, s *shared) ([]func(), error) {
	core := s.typed.Core().V1()
	c, err := serviceaccount.NewServiceAccountsController(klog.FromContext(ctx), core.ServiceAccounts(), core.Namespaces(), s.client,
		serviceaccount.DefaultServiceAccountsControllerOptions())
	if err != nil {
		return nil, fmt.Errorf("making the controller of service accounts: %w", err)
	}
	return []func(){func() { c.Run(ctx, workers) }}, nil
}
