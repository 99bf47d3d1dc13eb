package machine

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// shelf is where an image that a machine waits for would stand.
type shelf struct {
	namespace string
	// version in its canonical form without build.
	version string
	zoneID  string
}

// waitingRoom is the index from (version, zone) to the machines that wait for an image. It needs no memory over a restart,
// which looks at all machines anyway.
type waitingRoom struct {
	mu      sync.Mutex
	shelves map[shelf]map[types.NamespacedName]bool
	of      map[types.NamespacedName]shelf
}

func newWaitingRoom() *waitingRoom {
	return &waitingRoom{shelves: map[shelf]map[types.NamespacedName]bool{}, of: map[types.NamespacedName]shelf{}}
}

// wait has a machine wait at a shelf and no other.
func (w *waitingRoom) wait(key types.NamespacedName, at shelf) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.drop(key)
	if w.shelves[at] == nil {
		w.shelves[at] = map[types.NamespacedName]bool{}
	}
	w.shelves[at][key], w.of[key] = true, at
}

// leave ends the wait of a machine.
func (w *waitingRoom) leave(key types.NamespacedName) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.drop(key)
}

func (w *waitingRoom) drop(key types.NamespacedName) {
	at, waits := w.of[key]
	if !waits {
		return
	}
	delete(w.of, key)
	delete(w.shelves[at], key)
	if len(w.shelves[at]) == 0 {
		delete(w.shelves, at)
	}
}

// at lists the machines that wait at a shelf.
func (w *waitingRoom) at(s shelf) []types.NamespacedName {
	w.mu.Lock()
	defer w.mu.Unlock()
	keys := make([]types.NamespacedName, 0, len(w.shelves[s]))
	for key := range w.shelves[s] {
		keys = append(keys, key)
	}
	return keys
}
