package image

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// enterZone takes one of the places of a zone; an image that has one keeps it. One that finds none is noted and woken when
// its turn has come.
func (r *Reconciler) enterZone(key types.NamespacedName, zoneID string, now time.Time) (entered bool) {
	r.memos.Among(key, func(m *objectMemo, all map[types.NamespacedName]*objectMemo) {
		taken := 0
		for other, m := range all {
			if m.onItsWay == zoneID && other != key {
				taken++
			}
		}
		switch {
		case taken < r.options.ZoneQueue:
			m.onItsWay, m.waitsFor = zoneID, ""
			entered = true
		case m.waitsFor != zoneID:
			m.waitsFor, m.waitsSince = zoneID, now
		}
	})
	return entered
}

// leaveZone gives the place back, and with it all that a delivery holds.
func (r *Reconciler) leaveZone(key types.NamespacedName) {
	r.uploads.Cancel(key)
	r.memo(key, func(m *objectMemo) { m.releaseLease() })
	r.vacate(key)
}

// vacate gives the place back and wakes who has waited longest for it.
func (r *Reconciler) vacate(key types.NamespacedName) {
	var next types.NamespacedName
	waits := false
	r.memos.Among(key, func(m *objectMemo, all map[types.NamespacedName]*objectMemo) {
		zoneID := m.onItsWay
		m.onItsWay = ""
		if zoneID != "" {
			next, waits = longestWaiting(all, key, zoneID)
		}
	})
	if waits {
		r.waker.Wake(next)
	}
}

// longestWaiting finds who of the others has waited longest for a place in a zone.
func longestWaiting(all map[types.NamespacedName]*objectMemo, key types.NamespacedName, zoneID string) (next types.NamespacedName, waits bool) {
	var since time.Time
	for other, waiting := range all {
		if waiting.waitsFor != zoneID || other == key {
			continue
		}
		if !waits || waiting.waitsSince.Before(since) {
			next, since, waits = other, waiting.waitsSince, true
		}
	}
	return next, waits
}
