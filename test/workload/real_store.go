package workload

import (
	"context"
	"crypto/x509/pkix"
	"fmt"
	"net"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// realStore is the API of a cluster as its administrator has it, on whichever member works.
type realStore struct {
	objects client.Client
	health  rest.Interface
}

func newRealStore(p *realPlane, ca *authority) (*realStore, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, appsv1.AddToScheme, rbacv1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("building the scheme of a cluster: %w", err)
		}
	}
	c, err := ca.issue(pkix.Name{CommonName: "kubernetes-admin", Organization: []string{"system:masters"}})
	if err != nil {
		return nil, err
	}
	crt, key, err := pemPair(c)
	if err != nil {
		return nil, err
	}
	config := &rest.Config{Host: "https://kubernetes", Timeout: 2 * requestTimeout, QPS: 100, Burst: 200, TLSClientConfig: rest.TLSClientConfig{CAData: ca.pem(), CertData: crt, KeyData: key},
		Dial: func(ctx context.Context, _, _ string) (net.Conn, error) { return p.dial(ctx) }}
	cl, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("making the client of a cluster: %w", err)
	}
	set, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making the client of a cluster: %w", err)
	}
	return &realStore{cl, set.RESTClient()}, nil
}

func (s *realStore) ready(ctx context.Context) error {
	return s.health.Get().AbsPath("/readyz").Do(ctx).Error()
}

// Get implements store.
func (s *realStore) Get(ctx context.Context, key client.ObjectKey, obj client.Object) error {
	return s.objects.Get(ctx, key, obj)
}

// List implements store.
func (s *realStore) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	return s.objects.List(ctx, list, opts...)
}

// Create implements store. Admission adds a taint to new Nodes that a controller takes away again; here they never have it.
func (s *realStore) Create(ctx context.Context, obj client.Object) error {
	switch o := obj.(type) {
	case *corev1.Node:
		want := o.DeepCopy()
		if err := s.objects.Create(ctx, o); err != nil {
			return err
		}
		return change(ctx, s, o, func(n *corev1.Node) bool {
			n.Spec.Taints, n.Status = want.Spec.Taints, want.Status
			return true
		})
	case *corev1.Pod:
		want := o.DeepCopy()
		if err := s.objects.Create(ctx, o); err != nil {
			return err
		}
		o.Status = want.Status
		return s.objects.Status().Update(ctx, o)
	}
	return s.objects.Create(ctx, obj)
}

// Update implements store.
func (s *realStore) Update(ctx context.Context, obj client.Object) error {
	switch o := obj.(type) {
	case *corev1.Node:
		status := o.Status.DeepCopy()
		if err := s.objects.Update(ctx, o); err != nil {
			return err
		}
		o.Status = *status
		return s.objects.Status().Update(ctx, o)
	case *corev1.Pod:
		return s.objects.Status().Update(ctx, o)
	}
	return s.objects.Update(ctx, obj)
}

// Delete implements store. Nothing runs that would have to end first.
func (s *realStore) Delete(ctx context.Context, obj client.Object) error {
	return s.objects.Delete(ctx, obj, client.GracePeriodSeconds(0))
}
