package image

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// enterZone takes one of the places of a zone; an image that has one keeps it. One that finds none is noted and woken when
// its turn has come.
func (r *Reconciler) enterZone(key types.NamespacedName, zoneID string, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	taken := 0
	for other, m := range r.memos {
		if m.onItsWay == zoneID && other != key {
			taken++
		}
	}
	m := r.memoLocked(key)
	if taken < r.options.ZoneQueue {
		m.onItsWay, m.waitsFor = zoneID, ""
		return true
	}
	if m.waitsFor != zoneID {
		m.waitsFor, m.waitsSince = zoneID, now
	}
	return false
}

// leaveZone gives the place back, and with it all that a delivery holds.
func (r *Reconciler) leaveZone(key types.NamespacedName) {
	r.uploads.Cancel(key)
	r.memo(key, func(m *objectMemo) { m.releaseLease() })
	r.vacate(key)
}

// vacate gives the place back and wakes who has waited longest for it.
func (r *Reconciler) vacate(key types.NamespacedName) {
	if next, waits := r.vacateLocked(key); waits {
		r.waker.Wake(next)
	}
}

func (r *Reconciler) vacateLocked(key types.NamespacedName) (next types.NamespacedName, waits bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	m := r.memoLocked(key)
	zoneID := m.onItsWay
	m.onItsWay = ""
	if zoneID == "" {
		return next, false
	}
	var since time.Time
	for other, waiting := range r.memos {
		if waiting.waitsFor != zoneID || other == key {
			continue
		}
		if !waits || waiting.waitsSince.Before(since) {
			next, since, waits = other, waiting.waitsSince, true
		}
	}
	return next, waits
}
