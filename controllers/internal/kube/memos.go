package kube

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// Memos holds what is remembered of objects between two reconciles. It may be lost at any time, as by a restart: what must
// not be lost is in the object. It is safe for concurrent use.
type Memos[T any] struct {
	fresh func() *T

	mu    sync.Mutex
	byKey map[types.NamespacedName]*T
}

// NewMemos makes an empty store; fresh makes the memo of an object that is seen first.
func NewMemos[T any](fresh func() *T) *Memos[T] {
	return &Memos[T]{fresh: fresh, byKey: map[types.NamespacedName]*T{}}
}

// With runs f on the memo of an object, and nothing else meanwhile.
func (m *Memos[T]) With(key types.NamespacedName, f func(*T)) {
	m.Among(key, func(mine *T, _ map[types.NamespacedName]*T) { f(mine) })
}

// Among runs f on the memo of an object and on those of all, itself included, and nothing else meanwhile.
func (m *Memos[T]) Among(key types.NamespacedName, f func(mine *T, all map[types.NamespacedName]*T)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	memo := m.byKey[key]
	if memo == nil {
		memo = m.fresh()
		m.byKey[key] = memo
	}
	f(memo, m.byKey)
}

// Forget drops the memo of an object.
func (m *Memos[T]) Forget(key types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.byKey, key)
}
