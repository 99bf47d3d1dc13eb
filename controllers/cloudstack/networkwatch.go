package cloudstack

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"
)

const (
	// quickPeriod is the pause between two looks at what carries traffic: members and firewall rules. A rule or an address
	// that is lost takes its members with it.
	quickPeriod = 50 * time.Second
	// unseenAfter is how long every look has to fail before clusters are told; NetworkSight.Unseen says two minutes.
	unseenAfter = 2 * time.Minute
	// slowPeriod is the pause between two looks at everything else.
	slowPeriod = 4 * time.Minute
)

// NetworkParts are what a cluster has on the network, by id. Watch them when they stand.
type NetworkParts struct {
	Owner Owner
	// Networks are watched for themselves, EgressOf for their egress rules, and EgressOfOthers for those of somebody else, who may
	// take them away at any time.
	Networks, EgressOf, EgressOfOthers []string
	// Addresses are watched for themselves, FirewallOf for their firewall rules.
	Addresses, FirewallOf []string
	// LoadBalancers are watched with their members.
	LoadBalancers []string
}

// NetworkSight is what was last seen of NetworkParts. A part that is missing in its map was looked for and not found,
// provided that the time of its kind is set. Before a lost part is made anew, ask for it: owner-wide lists can hide rows.
type NetworkSight struct {
	// QuickAt is the time of Members, Firewall and the egress rules of others, SlowAt that of all others; zero while not everything was looked at.
	QuickAt, SlowAt time.Time

	// Members holds ids of machines by load-balancer rule.
	Members map[string][]string
	// Firewall holds rules by address, Egress by network.
	Firewall, Egress map[string][]FirewallRule
	Networks         map[string]Network
	Addresses        map[string]Address
	LoadBalancers    map[string]LoadBalancer

	// Unseen is why nothing could be seen when it was last looked: refused credentials at once, anything else when every look
	// has failed for two minutes. nil when CloudStack answered.
	Unseen error
}

// topic is one kind of facts, read for all clusters of an owner together.
type topic struct {
	name   string
	period time.Duration
	// of picks the ids that matter.
	of func(NetworkParts) []string
	// read gives what it finds of the ids, by id.
	read func(context.Context, *Session, Owner, []string) (map[string]any, error)
}

func topics() []topic {
	return []topic{
		{"members", quickPeriod, func(p NetworkParts) []string { return p.LoadBalancers }, readMembers},
		{"firewall", quickPeriod, func(p NetworkParts) []string { return p.FirewallOf }, readFirewall},
		{"egressOfOthers", quickPeriod, func(p NetworkParts) []string { return p.EgressOfOthers }, readEgress},
		{"egress", slowPeriod, func(p NetworkParts) []string { return p.EgressOf }, readEgress},
		{"networks", slowPeriod, func(p NetworkParts) []string { return p.Networks }, readNetworks},
		{"addresses", slowPeriod, func(p NetworkParts) []string { return p.Addresses }, readAddresses},
		{"loadBalancers", slowPeriod, func(p NetworkParts) []string { return p.LoadBalancers }, readLoadBalancers},
	}
}

// networkWatch looks at the parts of all clusters of a session with few calls and wakes those whose parts changed.
type networkWatch struct {
	session *Session

	mu       sync.Mutex
	clusters map[string]*partsWatch
	// next is when a topic of an owner is due, by both.
	next map[string]time.Time
}

type partsWatch struct {
	parts NetworkParts
	wake  func()
	// facts and times are by topic.
	facts map[string]map[string]any
	times map[string]time.Time
	// failing is since when every look has failed; zero when the last one did not. unseen is NetworkSight.Unseen.
	failing time.Time
	unseen  error
}

func newNetworkWatch(s *Session) *networkWatch {
	return &networkWatch{session: s, clusters: map[string]*partsWatch{}, next: map[string]time.Time{}}
}

// WatchNetwork tells what is known of a cluster's parts and sees to it that wake is called when they change, including the
// first time that they are seen. key tells clusters apart. Watching other parts begins anew.
func (s *Session) WatchNetwork(key string, parts NetworkParts, wake func()) NetworkSight {
	parts = parts.sorted()
	n := s.networkWatch
	n.mu.Lock()
	defer n.mu.Unlock()
	w := n.clusters[key]
	if w == nil || !reflect.DeepEqual(w.parts, parts) {
		delete(n.clusters, key)
		n.schedule(parts)
		w = &partsWatch{parts: parts, facts: map[string]map[string]any{}, times: map[string]time.Time{}}
		n.clusters[key] = w
	}
	if wake != nil {
		w.wake = wake
	}
	return w.sight()
}

// sorted makes parts that name the same things equal.
func (p NetworkParts) sorted() NetworkParts {
	for _, list := range []*[]string{&p.Networks, &p.EgressOf, &p.EgressOfOthers, &p.Addresses, &p.FirewallOf, &p.LoadBalancers} {
		*list = slices.Compact(slices.Sorted(slices.Values(*list)))
	}
	return p
}

// schedule plans the first look at topics that nobody has watched: whoever begins to watch has just looked.
func (n *networkWatch) schedule(parts NetworkParts) {
	now := n.session.clock.Now()
	for _, t := range topics() {
		watched := len(t.of(parts)) == 0
		for _, other := range n.clusters {
			watched = watched || (other.parts.Owner == parts.Owner && len(t.of(other.parts)) > 0)
		}
		at := parts.Owner.key() + "/" + t.name
		if !watched && n.next[at].Before(now) {
			n.next[at] = now.Add(t.period)
		}
	}
}

// UnwatchNetwork ends WatchNetwork.
func (s *Session) UnwatchNetwork(key string) {
	s.networkWatch.mu.Lock()
	defer s.networkWatch.mu.Unlock()
	delete(s.networkWatch.clusters, key)
}

func (w *partsWatch) sight() NetworkSight {
	out := NetworkSight{
		Members:       typed[[]string](w.facts["members"]),
		Firewall:      typed[[]FirewallRule](w.facts["firewall"]),
		Egress:        typed[[]FirewallRule](w.facts["egress"]),
		Networks:      typed[Network](w.facts["networks"]),
		Addresses:     typed[Address](w.facts["addresses"]),
		LoadBalancers: typed[LoadBalancer](w.facts["loadBalancers"]),
	}
	maps.Copy(out.Egress, typed[[]FirewallRule](w.facts["egressOfOthers"]))
	out.QuickAt, out.SlowAt = w.oldest(quickPeriod), w.oldest(slowPeriod)
	out.Unseen = w.unseen
	return out
}

// oldest is the time of the oldest facts of the topics with that period; zero when one is missing.
func (w *partsWatch) oldest(period time.Duration) time.Time {
	var out time.Time
	for _, t := range topics() {
		if t.period != period || len(t.of(w.parts)) == 0 {
			continue
		}
		at := w.times[t.name]
		if at.IsZero() {
			return time.Time{}
		}
		if out.IsZero() || at.Before(out) {
			out = at
		}
	}
	return out
}

func typed[T any](facts map[string]any) map[string]T {
	out := make(map[string]T, len(facts))
	for id, fact := range facts {
		if value, ok := fact.(T); ok {
			out[id] = value
		}
	}
	return out
}

// poll reads every topic that is due.
func (n *networkWatch) poll(ctx context.Context) {
	for _, owner := range n.owners() {
		for _, t := range topics() {
			ids, due := n.due(owner, t)
			if !due {
				continue
			}
			asked := n.session.clock.Now()
			facts, err := t.read(ctx, n.session, owner, ids)
			if err != nil {
				n.postpone(owner, t, n.session.clock.Now().Add(retryPause(err)))
				for _, wake := range n.fail(owner, err) {
					wake()
				}
				continue
			}
			n.postpone(owner, t, asked.Add(t.period))
			for _, wake := range n.observe(owner, t, look{asked, ids, facts}) {
				wake()
			}
		}
	}
}

func (n *networkWatch) owners() []Owner {
	n.mu.Lock()
	defer n.mu.Unlock()
	found := map[string]Owner{}
	for _, w := range n.clusters {
		found[w.parts.Owner.key()] = w.parts.Owner
	}
	return slices.Collect(maps.Values(found))
}

// due gives the ids that anybody watches in a topic.
func (n *networkWatch) due(owner Owner, t topic) (ids []string, due bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, w := range n.clusters {
		if w.parts.Owner == owner {
			ids = append(ids, t.of(w.parts)...)
		}
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	return ids, len(ids) > 0 && !n.session.clock.Now().Before(n.next[owner.key()+"/"+t.name])
}

func (n *networkWatch) postpone(owner Owner, t topic, next time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.next[owner.key()+"/"+t.name] = next
}

// look is one reading of a topic: when it was begun, which ids were asked for in their order, and what was found.
type look struct {
	asked time.Time
	ids   []string
	facts map[string]any
}

// of picks the facts of some ids; ok is false when they were not all asked for.
func (l look) of(ids []string) (facts map[string]any, ok bool) {
	facts = map[string]any{}
	for _, id := range ids {
		if _, asked := slices.BinarySearch(l.ids, id); !asked {
			return nil, false
		}
		if fact, found := l.facts[id]; found {
			facts[id] = fact
		}
	}
	return facts, true
}

// observe gives every cluster its part of the facts and returns whom they wake.
func (n *networkWatch) observe(owner Owner, t topic, l look) []func() {
	n.mu.Lock()
	defer n.mu.Unlock()
	var wakes []func()
	for _, w := range n.clusters {
		ids := t.of(w.parts)
		mine, ok := l.of(ids)
		if w.parts.Owner != owner || len(ids) == 0 || !ok {
			continue
		}
		changed := w.times[t.name].IsZero() || w.unseen != nil || !reflect.DeepEqual(w.facts[t.name], mine)
		w.facts[t.name], w.times[t.name] = mine, l.asked
		w.failing, w.unseen = time.Time{}, nil
		if changed && w.wake != nil {
			wakes = append(wakes, w.wake)
		}
	}
	return wakes
}

// fail tells the clusters of an owner that a look failed, and returns whom it wakes that nothing can be seen.
func (n *networkWatch) fail(owner Owner, err error) []func() {
	now := n.session.clock.Now()
	n.mu.Lock()
	defer n.mu.Unlock()
	var wakes []func()
	for _, w := range n.clusters {
		if w.parts.Owner != owner {
			continue
		}
		if w.failing.IsZero() {
			w.failing = now
		}
		if !Is(err, Unauthorized) && now.Sub(w.failing) < unseenAfter {
			continue
		}
		if w.unseen == nil && w.wake != nil {
			wakes = append(wakes, w.wake)
		}
		w.unseen = err
	}
	return wakes
}

// inherit takes over what a session of the same credential watched and knew.
func (n *networkWatch) inherit(from *networkWatch) {
	from.mu.Lock()
	defer from.mu.Unlock()
	maps.Copy(n.clusters, from.clusters)
	maps.Copy(n.next, from.next)
	for _, w := range n.clusters {
		w.failing, w.unseen = time.Time{}, nil // the new credentials have still to be tried
	}
	from.clusters = map[string]*partsWatch{}
}
