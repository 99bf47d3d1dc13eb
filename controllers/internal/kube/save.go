package kube

import (
	"context"
	"fmt"
	"reflect"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ConflictPause is how long a reconcile whose save was a conflict waits for the cache to catch up.
const ConflictPause = 200 * time.Millisecond

// Saver writes what changed of one object since it was read, and nothing else. It refuses to write over a change by
// somebody else: such a save is a conflict, and the reconcile is to be run again on what is there now.
type Saver[T client.Object] struct {
	client client.Client
	before T
	status func(T) any
}

// NewSaver remembers the object as it was read. status gives a pointer to its status.
func NewSaver[T client.Object](c client.Client, obj T, status func(T) any) *Saver[T] {
	return &Saver[T]{client: c, before: copyOf(obj), status: status}
}

// Metadata saves finalizers, labels and annotations.
func (s *Saver[T]) Metadata(ctx context.Context, obj T) error {
	before, now := s.meta(s.before), s.meta(obj)
	if reflect.DeepEqual(before, now) {
		return nil
	}
	target := copyOf(s.before)
	target.SetFinalizers(obj.GetFinalizers())
	target.SetAnnotations(obj.GetAnnotations())
	target.SetLabels(obj.GetLabels())
	if err := s.client.Patch(ctx, target, s.patch()); err != nil {
		return fmt.Errorf("saving the metadata: %w", err)
	}
	s.adopt(target, obj)
	return nil
}

// Status saves the status.
func (s *Saver[T]) Status(ctx context.Context, obj T) error {
	if reflect.DeepEqual(s.status(s.before), s.status(obj)) {
		return nil
	}
	target := copyOf(obj)
	target.SetFinalizers(s.before.GetFinalizers())
	target.SetAnnotations(s.before.GetAnnotations())
	target.SetLabels(s.before.GetLabels())
	if err := s.client.Status().Patch(ctx, target, s.patch()); err != nil {
		return fmt.Errorf("saving the status: %w", err)
	}
	s.adopt(target, obj)
	s.before = copyOf(obj)
	return nil
}

// All saves metadata and then the status. An object that is gone is none to save.
func (s *Saver[T]) All(ctx context.Context, obj T) error {
	for _, write := range []func(context.Context, T) error{s.Metadata, s.Status} {
		if err := write(ctx, obj); err != nil {
			return client.IgnoreNotFound(err)
		}
	}
	return nil
}

// Spec saves everything else, and then a change of the spec.
func (s *Saver[T]) Spec(ctx context.Context, obj T, change func(T)) error {
	if err := s.Metadata(ctx, obj); err != nil {
		return err
	}
	if err := s.Status(ctx, obj); err != nil {
		return err
	}
	target := copyOf(obj)
	change(target)
	if err := s.client.Patch(ctx, target, client.MergeFromWithOptions(copyOf(obj), client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("saving the spec: %w", err)
	}
	change(obj)
	s.adopt(target, obj)
	s.before = copyOf(obj)
	return nil
}

// Changed tells whether the status differs from what was last saved.
func (s *Saver[T]) Changed(obj T) bool { return !reflect.DeepEqual(s.status(s.before), s.status(obj)) }

type metadata struct {
	finalizers          []string
	labels, annotations map[string]string
}

func (s *Saver[T]) meta(obj T) metadata {
	return metadata{finalizers: obj.GetFinalizers(), labels: obj.GetLabels(), annotations: obj.GetAnnotations()}
}

func (s *Saver[T]) patch() client.Patch {
	return client.MergeFromWithOptions(s.before, client.MergeFromWithOptimisticLock{})
}

// adopt takes over what the server answered beside the part that was saved.
func (s *Saver[T]) adopt(saved, obj T) {
	obj.SetResourceVersion(saved.GetResourceVersion())
	obj.SetGeneration(saved.GetGeneration())
	s.before.SetResourceVersion(saved.GetResourceVersion())
	s.before.SetFinalizers(obj.GetFinalizers())
	s.before.SetAnnotations(obj.GetAnnotations())
	s.before.SetLabels(obj.GetLabels())
}

func copyOf[T client.Object](obj T) T { return obj.DeepCopyObject().(T) }
