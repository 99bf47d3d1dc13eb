package cloudsim

import (
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// wantedMembers reads whom a command is about: a list of machines, or machines with the address of each that counts.
func (c *call) wantedMembers() (members []lbMember, ok bool) {
	rows, _ := referAll(c, c.machines, "virtualmachineids")
	for _, m := range rows {
		members = append(members, lbMember{machine: m})
	}
	entries := c.maps["vmidipmap"]
	for _, i := range slices.Sorted(maps.Keys(entries)) {
		m := resolveRow(c.machines, entries[i]["vmid"])
		if m == nil {
			return nil, false
		}
		address, err := netip.ParseAddr(entries[i]["vmip"])
		if err != nil {
			return nil, false
		}
		members = append(members, lbMember{m, address})
	}
	return members, len(members) > 0
}

// admits says whether a machine can become a member, and by which address it is reached.
func (lb *loadBalancer) admits(x lbMember) (lbMember, bool) {
	m := x.machine
	if !m.live() || m.state == machineDestroyed || m.state == machineExpunging || lb.has(m) {
		return x, false
	}
	for _, n := range m.nics {
		if n.network != lb.network {
			continue
		}
		if !x.address.IsValid() {
			x.address = n.address
		}
		if n.holds(x.address) {
			return x, true
		}
	}
	return x, false
}

// assignToLoadBalancerRule adds members: all that are named, or none. Whatever is wrong, its job says the same.
func assignToLoadBalancerRule(c *call) (*work, error) {
	lb := c.ownLoadBalancer()
	if lb == nil {
		return nil, invalid("Unable to find load balancer rule %s", c.str("id"))
	}
	failed := wrapped(530, "Failed to assign load balancer rule")
	var added []lbMember
	tried, mapped := false, false
	add := func() {
		if !tried {
			tried = true
			added, mapped = c.admitted(lb)
			lb.members = append(lb.members, added...)
		}
	}
	return &work{
		pace: func() ([]phase, time.Duration) {
			if c.mayUse(lb.owner) != nil {
				return nil, takesMembers
			}
			return []phase{{0, lb.unsettle}, {takesMembers / 2, add}}, takesMembers
		},
		run: func() (object, error) {
			defer lb.settle()
			if c.mayUse(lb.owner) == nil {
				add()
			}
			switch {
			case !mapped:
				return nil, failed
			case c.refused():
				lb.members = slices.DeleteFunc(lb.members, func(x lbMember) bool { return slices.Contains(added, x) })
				return nil, failed
			}
			return success(), nil
		}}, nil
}

// admitted are the members that a call adds; one that cannot be added spoils all.
func (c *call) admitted(lb *loadBalancer) ([]lbMember, bool) {
	wanted, ok := c.wantedMembers()
	if !ok || c.loadBalancers.index[lb.id] != lb {
		return nil, false
	}
	for i, x := range wanted {
		if wanted[i], ok = lb.admits(x); !ok {
			return nil, false
		}
	}
	return wanted, true
}

// removeFromLoadBalancerRule drops members; those that are none do no harm.
func removeFromLoadBalancerRule(c *call) (*work, error) {
	lb := c.ownLoadBalancer()
	if lb == nil {
		return nil, invalid("Unable to find load balancer rule %s", c.str("id"))
	}
	return &work{
		pace: func() ([]phase, time.Duration) {
			if _, ok := c.wantedMembers(); !ok || c.mayUse(lb.owner) != nil {
				return nil, takesMembers
			}
			return []phase{{0, lb.unsettle}}, takesMembers
		},
		run: func() (object, error) {
			defer lb.settle()
			wanted, ok := c.wantedMembers()
			switch {
			case c.mayUse(lb.owner) != nil:
				return nil, denied(noPermission)
			case !ok:
				return nil, invalid("Failed to remove instance from load balancer rule")
			case c.refused():
				return nil, internal("Failed to remove specified load balancer rule id for vms %s", numbers(wanted))
			}
			for _, x := range wanted {
				lb.dropMember(x.machine)
			}
			return success(), nil
		}}, nil
}

func numbers(members []lbMember) string {
	list := make([]string, len(members))
	for i, x := range members {
		list[i] = formatInt(x.machine.db)
	}
	return "[" + strings.Join(list, ", ") + "]"
}

func (lb *loadBalancer) dropMember(m *machine) {
	lb.members = slices.DeleteFunc(lb.members, func(x lbMember) bool { return x.machine == m })
}

// listLoadBalancerRuleInstances lists members as machines, never in pages. A destroyed one is still a member and seen by nobody.
func listLoadBalancerRuleInstances(c *call) (object, error) {
	lb := c.ownLoadBalancer()
	if lb == nil {
		return object{}, nil
	}
	if err := c.mayUse(lb.owner); err != nil {
		return nil, err
	}
	var seen []lbMember
	for _, x := range lb.members {
		if x.machine.state != machineDestroyed && x.machine.state != machineExpunging && c.flagOr("applied", true) {
			seen = append(seen, x)
		}
	}
	if c.flag("lbvmips") {
		return whole("lbrulevmidip", seen, func(x lbMember) object {
			return obj("loadbalancerruleinstance", c.memberObject(x.machine), "lbvmipaddresses", []string{x.address.String()})
		})
	}
	return whole("loadbalancerruleinstance", seen, func(x lbMember) object { return c.memberObject(x.machine) })
}

// memberObject shows a machine without what only root admins see of it elsewhere.
func (c *call) memberObject(m *machine) object {
	return c.machineObject(m).without("hostid", "hostname", "instancename", "arch")
}
