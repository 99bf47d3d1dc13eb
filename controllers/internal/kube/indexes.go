package kube

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Names of the indexes that reconcilers list by.
const (
	// IndexIdentity holds the name of the Secret that an object takes its credentials from.
	IndexIdentity = "spec.identityRef.name"
)

// IndexBy registers an index whose one value an object gives; "" leaves the object out.
func IndexBy[T client.Object](ctx context.Context, indexer client.FieldIndexer, obj T, name string, value func(T) string) error {
	err := indexer.IndexField(ctx, obj, name, func(o client.Object) []string {
		typed, ok := o.(T)
		if !ok {
			return nil
		}
		if v := value(typed); v != "" {
			return []string{v}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("indexing by %s: %w", name, err)
	}
	return nil
}
