package rig

import (
	"context"
	"fmt"
	"reflect"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// Remember has the client of the world read a thing again only after it was written. A manager reads from a cache, too, but
// this one is never late. It is for worlds in which nobody writes but through the client.
func (w *World) Remember() {
	w.T.Helper()
	m := &memory{scheme: w.direct.Scheme(), kinds: map[string]*shelf{}}
	w.Client = interceptor.NewClient(w.direct, m.funcs())
}

// Reread undoes Remember, for a world in which a manager of its own writes.
func (w *World) Reread() { w.Client = w.direct }

// memory holds what was read, by kind of resource.
type memory struct {
	scheme *runtime.Scheme

	mu    sync.Mutex
	kinds map[string]*shelf
}

// shelf is what was read of a kind since it was written last.
type shelf struct {
	objects map[shelfKey]runtime.Object
	// writes counts beginnings and ends of writes: what was read meanwhile may be old already.
	writes, underWay int
}

// shelfKey names what was read: a thing, or a list with its options.
type shelfKey struct {
	of   reflect.Type
	name types.NamespacedName
	list string
}

func (m *memory) funcs() interceptor.Funcs {
	return interceptor.Funcs{
		Get: func(ctx context.Context, k client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			return m.read(o, shelfKey{of: reflect.TypeOf(o), name: key}, func() error { return k.Get(ctx, key, o, opts...) })
		},
		List: func(ctx context.Context, k client.WithWatch, o client.ObjectList, opts ...client.ListOption) error {
			asked := client.ListOptions{}
			asked.ApplyOptions(opts)
			text := fmt.Sprint(asked.Namespace, "|", asked.LabelSelector, "|", asked.FieldSelector, "|", asked.Limit, "|", asked.Continue)
			return m.read(o, shelfKey{of: reflect.TypeOf(o), list: text}, func() error { return k.List(ctx, o, opts...) })
		},
		Create: func(ctx context.Context, k client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			return m.write(o, true, func() error { return k.Create(ctx, o, opts...) })
		},
		Update: func(ctx context.Context, k client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
			return m.write(o, true, func() error { return k.Update(ctx, o, opts...) })
		},
		Patch: func(ctx context.Context, k client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			return m.write(o, true, func() error { return k.Patch(ctx, o, p, opts...) })
		},
		Delete: func(ctx context.Context, k client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			return m.write(o, false, func() error { return k.Delete(ctx, o, opts...) })
		},
		SubResourceUpdate: func(ctx context.Context, k client.Client, sub string, o client.Object, opts ...client.SubResourceUpdateOption) error {
			return m.write(o, true, func() error { return k.SubResource(sub).Update(ctx, o, opts...) })
		},
		SubResourcePatch: func(ctx context.Context, k client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
			return m.write(o, true, func() error { return k.SubResource(sub).Patch(ctx, o, p, opts...) })
		},
	}
}

// shelf finds the shelf of a kind, whatever Go type it or its list is read into. m.mu is held.
func (m *memory) shelf(o runtime.Object) (*shelf, error) {
	gvk, err := apiutil.GVKForObject(o, m.scheme)
	if err != nil {
		return nil, fmt.Errorf("naming the kind of %T: %w", o, err)
	}
	kind := gvk.Kind
	if _, isList := o.(client.ObjectList); isList {
		kind = kind[:len(kind)-len("List")]
	}
	name := gvk.Group + "/" + kind
	if m.kinds[name] == nil {
		m.kinds[name] = &shelf{objects: map[shelfKey]runtime.Object{}}
	}
	return m.kinds[name], nil
}

func (m *memory) read(into runtime.Object, key shelfKey, ask func() error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, err := m.shelf(into)
	if err != nil {
		return err
	}
	if known := s.objects[key]; known != nil {
		reflect.ValueOf(into).Elem().Set(reflect.ValueOf(known.DeepCopyObject()).Elem())
		return nil
	}
	writes, quiet := s.writes, s.underWay == 0
	m.mu.Unlock()
	err = ask()
	m.mu.Lock()
	if err == nil && quiet && writes == s.writes {
		s.objects[key] = into.DeepCopyObject()
	}
	return err
}

// write has what was read forgotten; what stays after it is known from the answer.
func (m *memory) write(o client.Object, stays bool, do func() error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, err := m.shelf(o)
	if err != nil {
		return err
	}
	s.underWay++
	s.writes++
	writes, quiet := s.writes, s.underWay == 1
	m.mu.Unlock()
	err = do()
	m.mu.Lock()
	s.underWay--
	s.writes++
	clear(s.objects)
	// The answer to the write that takes the last finalizer off is of a thing that is gone.
	if err == nil && stays && quiet && writes+1 == s.writes && o.GetDeletionTimestamp().IsZero() {
		s.objects[shelfKey{of: reflect.TypeOf(o), name: client.ObjectKeyFromObject(o)}] = o.DeepCopyObject()
	}
	return err
}
