package workload

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	inmemory "sigs.k8s.io/cluster-api/test/infrastructure/inmemory/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// memoryStore reads lists whatever form their objects are kept in: the in-memory API server keeps what was patched unstructured, and then
// cannot list it as what it is.
type memoryStore struct {
	inmemory.Client
	scheme *runtime.Scheme
}

// List implements store.
func (s memoryStore) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	kind, err := apiutil.GVKForObject(list, s.scheme)
	if err != nil {
		return fmt.Errorf("listing: %w", err)
	}
	raw := &unstructured.UnstructuredList{}
	raw.SetGroupVersionKind(kind)
	if err := s.Client.List(ctx, raw, opts...); err != nil {
		return err
	}
	items := make([]runtime.Object, 0, len(raw.Items))
	for i := range raw.Items {
		o, err := s.scheme.New(raw.Items[i].GroupVersionKind())
		if err != nil {
			return fmt.Errorf("listing: %w", err)
		}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(raw.Items[i].Object, o); err != nil {
			return fmt.Errorf("reading %q: %w", raw.Items[i].GetName(), err)
		}
		items = append(items, o)
	}
	return meta.SetList(list, items)
}
