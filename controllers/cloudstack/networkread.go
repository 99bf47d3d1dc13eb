package cloudstack

import (
	"context"
)

// readMembers asks for each rule: CloudStack has no list for several.
func readMembers(ctx context.Context, s *Session, _ Owner, ids []string) (map[string]any, error) {
	return readEach(ids, func(id string) (any, error) { return s.Members(ctx, id) })
}

// readEach asks for one id after the other. Those that are gone, or another tenant's by now, are left out.
func readEach(ids []string, read func(id string) (any, error)) (map[string]any, error) {
	facts := map[string]any{}
	for _, id := range ids {
		fact, err := read(id)
		switch {
		case Is(err, NotFound) || Is(err, Forbidden):
		case err != nil:
			return nil, err
		default:
			facts[id] = fact
		}
	}
	return facts, nil
}

func readFirewall(ctx context.Context, s *Session, owner Owner, ids []string) (map[string]any, error) {
	rules, err := s.listFirewallRules(ctx, owner, "")
	if err != nil {
		return nil, err
	}
	return groupRules(ids, rules, func(f FirewallRule) string { return f.AddressID }), nil
}

func readEgress(ctx context.Context, s *Session, owner Owner, ids []string) (map[string]any, error) {
	rules, err := s.listEgressRules(ctx, owner, "")
	if err != nil {
		return nil, err
	}
	return groupRules(ids, rules, func(f FirewallRule) string { return f.NetworkID }), nil
}

// groupRules gives every id its rules, none being a fact too.
func groupRules(ids []string, rules []FirewallRule, of func(FirewallRule) string) map[string]any {
	grouped := make(map[string][]FirewallRule, len(ids))
	for _, id := range ids {
		grouped[id] = nil
	}
	for _, rule := range rules {
		if _, wanted := grouped[of(rule)]; wanted {
			grouped[of(rule)] = append(grouped[of(rule)], rule)
		}
	}
	facts := make(map[string]any, len(ids))
	for id, list := range grouped {
		facts[id] = list
	}
	return facts
}

func readNetworks(ctx context.Context, s *Session, owner Owner, ids []string) (map[string]any, error) {
	rows, err := s.listNetworks(ctx, owner, networkFilter{})
	if err != nil {
		return nil, err
	}
	return pick(ids, rows, func(n Network) string { return n.ID }, func(id string) (any, error) { return s.FindNetwork(ctx, owner, id) })
}

func readAddresses(ctx context.Context, s *Session, owner Owner, ids []string) (map[string]any, error) {
	rows, err := s.listAddresses(ctx, owner, addressFilter{})
	if err != nil {
		return nil, err
	}
	return pick(ids, rows, func(a Address) string { return a.ID }, func(id string) (any, error) { return s.FindAddress(ctx, owner, id) })
}

func readLoadBalancers(ctx context.Context, s *Session, owner Owner, ids []string) (map[string]any, error) {
	rows, err := s.listLoadBalancers(ctx, owner, "", "")
	if err != nil {
		return nil, err
	}
	return pick(ids, rows, func(l LoadBalancer) string { return l.ID }, func(id string) (any, error) { return s.FindLoadBalancer(ctx, owner, id) })
}

// pick takes the wanted rows out of a list and asks for each that is not in it, as lists do not show everything that may
// be used.
func pick[T any](ids []string, rows []T, of func(T) string, find func(id string) (any, error)) (map[string]any, error) {
	byID := make(map[string]T, len(rows))
	for _, row := range rows {
		byID[of(row)] = row
	}
	facts := map[string]any{}
	var missing []string
	for _, id := range ids {
		if row, ok := byID[id]; ok {
			facts[id] = row
		} else {
			missing = append(missing, id)
		}
	}
	found, err := readEach(missing, find)
	for id, fact := range found {
		facts[id] = fact
	}
	return facts, err
}
