package machine

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
)

// departures are the machines that are being deleted and have no VM any more. Two that go at the same time are in the cache for
// each other to the end; each of them is in here before it looks whether it is the last, so that one of them is. After a restart
// they look again.
type departures struct {
	mu   sync.Mutex
	uids map[types.NamespacedName]types.UID
}

func newDepartures() *departures { return &departures{uids: map[types.NamespacedName]types.UID{}} }

// note has a machine depart.
func (d *departures) note(key types.NamespacedName, uid types.UID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.uids[key] = uid
}

// include tells whether a machine has departed, or has even been released while somebody else holds it.
func (d *departures) include(m *infrav1.CloudStackMachine) bool {
	if m.DeletionTimestamp.IsZero() {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.uids[types.NamespacedName{Namespace: m.Namespace, Name: m.Name}] == m.UID || !controllerutil.ContainsFinalizer(m, infrav1.FinalizerMachine)
}

// forget drops a machine that is no more in the cache.
func (d *departures) forget(key types.NamespacedName) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.uids, key)
}
