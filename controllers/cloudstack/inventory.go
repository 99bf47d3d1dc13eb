package cloudstack

import (
	"context"
	"errors"
	"reflect"
	"sync"
	"time"
)

const (
	// vmPeriod is the pause between two listings of an owner's machines. A lost one is seen within a minute.
	vmPeriod = 50 * time.Second
	// watchRetry is the pause after a look that failed and may soon succeed.
	watchRetry = 10 * time.Second
	// attemptMemory is how long a deployment is remembered, so that no older listing proves that its machine is absent.
	attemptMemory = time.Hour
)

// retryPause is the pause after a look that failed.
func retryPause(err error) time.Duration {
	var e *Error
	if errors.As(err, &e) && e.Retry() != RetryBackoff {
		return vmPeriod
	}
	return watchRetry
}

// VMSight is what a listing of all machines of an owner showed of one of them.
type VMSight struct {
	VM VM
	// Found is false when a complete listing, begun after the machine was first watched, does not show it: it is gone, or
	// destroyed and hidden from plain users.
	Found bool
	// At is when the listing was begun; zero when none has told anything yet.
	At time.Time
}

// inventory reads the machines of each owner with one listing for all who ask, and wakes those whose machine changed.
type inventory struct {
	session *Session

	mu     sync.Mutex
	owners map[string]*ownerVMs
}

// ownerVMs is the inventory of one owner.
type ownerVMs struct {
	owner Owner
	// turn admits one listing at a time.
	turn chan struct{}

	mu      sync.Mutex
	last    listing
	begun   int
	retryAt time.Time
	watches map[string]*vmWatch
	// attempts holds, by zone and name, the last listing that was begun before a deployment of the name ended.
	attempts map[string]attempt
}

// listing is one complete reading.
type listing struct {
	number int
	asked  time.Time
	vms    []VM
}

type attempt struct {
	number int
	at     time.Time
}

type vmWatch struct {
	since time.Time
	wake  func()
	sight VMSight
}

func newInventory(s *Session) *inventory {
	return &inventory{session: s, owners: map[string]*ownerVMs{}}
}

func (i *inventory) of(owner Owner) *ownerVMs {
	i.mu.Lock()
	defer i.mu.Unlock()
	o := i.owners[owner.key()]
	if o == nil {
		o = &ownerVMs{owner: owner, turn: make(chan struct{}, 1), watches: map[string]*vmWatch{}, attempts: map[string]attempt{}}
		i.owners[owner.key()] = o
	}
	return o
}

func (i *inventory) all() []*ownerVMs {
	i.mu.Lock()
	defer i.mu.Unlock()
	out := make([]*ownerVMs, 0, len(i.owners))
	for _, o := range i.owners {
		out = append(out, o)
	}
	return out
}

// WatchVM tells what is known of a machine and sees to it that wake is called when a later listing shows it changed,
// including the first that shows anything. Watching again replaces wake unless it is nil.
func (s *Session) WatchVM(owner Owner, id string, wake func()) VMSight {
	o := s.vms.of(owner)
	o.mu.Lock()
	defer o.mu.Unlock()
	w := o.watches[id]
	if w == nil {
		w = &vmWatch{since: s.clock.Now()}
		for _, v := range o.last.vms {
			if equalID(v.ID, id) {
				w.sight = VMSight{VM: v, Found: true, At: o.last.asked}
			}
		}
		o.watches[id] = w
	}
	if wake != nil {
		w.wake = wake
	}
	return w.sight
}

// UnwatchVM ends WatchVM.
func (s *Session) UnwatchVM(owner Owner, id string) {
	o := s.vms.of(owner)
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.watches, id)
}

// VMsNamedSince is VMsNamed answered from a listing of all the owner's machines that everybody shares. It was begun after
// notBefore, and after every deployment of the name through the session, so that an empty answer proves that there is none
// unless somebody else has deployed since.
func (s *Session) VMsNamedSince(ctx context.Context, owner Owner, zoneID, name string, notBefore time.Time) ([]VM, error) {
	if err := need("listVirtualMachines", zoneID, name); err != nil {
		return nil, err
	}
	o := s.vms.of(owner)
	o.mu.Lock()
	tried, deployed := o.attempts[zoneID+"/"+name]
	o.mu.Unlock()
	got, err := s.vms.fresh(ctx, o, func(l listing) bool {
		return l.asked.After(notBefore) && (!deployed || l.number > tried.number)
	})
	if err != nil {
		return nil, err
	}
	return namedVMs(got.vms, zoneID, name), nil
}

// attempted remembers that a deployment of a name has ended, well or not.
func (i *inventory) attempted(owner Owner, zoneID, name string) {
	o := i.of(owner)
	now := i.session.clock.Now()
	o.mu.Lock()
	defer o.mu.Unlock()
	for key, a := range o.attempts {
		if now.Sub(a.at) > attemptMemory {
			delete(o.attempts, key)
		}
	}
	o.attempts[zoneID+"/"+name] = attempt{number: o.begun, at: now}
}

// fresh returns a listing that is good enough, and makes one if the last is not.
func (i *inventory) fresh(ctx context.Context, o *ownerVMs, good func(listing) bool) (listing, error) {
	select {
	case o.turn <- struct{}{}:
		defer func() { <-o.turn }()
	case <-ctx.Done():
		return listing{}, &Error{Kind: Unavailable, Command: "listVirtualMachines", Text: "waiting for the same listing", Err: ctx.Err()}
	}
	o.mu.Lock()
	last := o.last
	if last.number > 0 && good(last) {
		o.mu.Unlock()
		return last, nil
	}
	o.begun++
	next := listing{number: o.begun, asked: i.session.clock.Now()}
	o.mu.Unlock()

	vms, err := i.session.listVMs(ctx, o.owner, nil)
	if err != nil {
		o.mu.Lock()
		o.retryAt = i.session.clock.Now().Add(retryPause(err))
		o.mu.Unlock()
		return listing{}, err
	}
	next.vms = vms
	for _, wake := range o.observe(next) {
		wake()
	}
	return next, nil
}

// observe keeps a listing and returns whom it wakes.
func (o *ownerVMs) observe(next listing) []func() {
	byID := make(map[string]VM, len(next.vms))
	for _, v := range next.vms {
		byID[v.ID] = v
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.last, o.retryAt = next, time.Time{}
	var wakes []func()
	for id, w := range o.watches {
		v, found := byID[id]
		if !found && !next.asked.After(w.since) {
			continue
		}
		now := VMSight{VM: v, Found: found, At: next.asked}
		changed := w.sight.At.IsZero() || w.sight.Found != found || !reflect.DeepEqual(w.sight.VM, v)
		w.sight = now
		if changed && w.wake != nil {
			wakes = append(wakes, w.wake)
		}
	}
	return wakes
}

// poll lists the machines of every owner that somebody watches and whose last listing is old.
func (i *inventory) poll(ctx context.Context) {
	now := i.session.clock.Now()
	for _, o := range i.all() {
		o.mu.Lock()
		due := len(o.watches) > 0 && now.Sub(o.last.asked) >= vmPeriod && !now.Before(o.retryAt)
		o.mu.Unlock()
		if due {
			_, _ = i.fresh(ctx, o, func(l listing) bool { return now.Sub(l.asked) < vmPeriod })
		}
	}
}

// inherit takes over what a session of the same credential watched and knew.
func (i *inventory) inherit(from *inventory) {
	for _, old := range from.all() {
		o := i.of(old.owner)
		old.mu.Lock()
		o.mu.Lock()
		o.last, o.begun = old.last, old.begun
		for id, w := range old.watches {
			o.watches[id] = w
		}
		for key, a := range old.attempts {
			o.attempts[key] = a
		}
		old.watches = map[string]*vmWatch{}
		o.mu.Unlock()
		old.mu.Unlock()
	}
}
