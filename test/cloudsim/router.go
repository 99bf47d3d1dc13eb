package cloudsim

import (
	"fmt"
	"slices"
)

// States of a router.
const (
	routerRunning = "Running"
	routerStopped = "Stopped"
)

// router stands between the guests of a network, or of all tiers of a VPC, and the world.
type router struct {
	base
	network *network // nil for that of a VPC
	vpc     *vpc
	owner   *account
	zone    *zone
	host    *host
	state   string
	sides   [3]string // ids of its NICs: guest, control, public
}

func (s *Server) routerOf(n *network, v *vpc) *router {
	for _, r := range s.routers.rows {
		if r.live() && r.network == n && r.vpc == v {
			return r
		}
	}
	return nil
}

// startRouter brings the router of a network or a VPC up, a new one if there is none.
func (s *Server) startRouter(n *network, v *vpc) {
	if r := s.routerOf(n, v); r != nil {
		r.state = routerRunning
		return
	}
	r := &router{base: s.newBase(), network: n, vpc: v, state: routerRunning, sides: [3]string{s.ids.uuid(), s.ids.uuid(), s.ids.uuid()}}
	if v != nil {
		r.owner, r.zone = v.owner, v.zone
	} else {
		r.owner, r.zone = n.owner, n.zone
	}
	for _, h := range s.hosts.rows {
		if r.host == nil && h.live() && h.zone == r.zone && h.resource == "Enabled" {
			r.host = h
		}
	}
	s.routers.insert(r)
}

func (s *Server) removeRouter(n *network, v *vpc) {
	if r := s.routerOf(n, v); r != nil {
		r.removed = s.now()
	}
}

// setRouterState stops or starts a router. Rules are stored while it is stopped.
func setRouterState(state string) func(*call) (*work, error) {
	return func(c *call) (*work, error) {
		r, _ := refer(c, c.routers, "id")
		if r == nil || !r.live() {
			return nil, invalid("Unable to find router by id %s.", c.str("id"))
		}
		return &work{instanceType: "DomainRouter", instanceID: r.id, run: func() (object, error) {
			r.state = state
			return obj("router", c.withJob(c.routerObject(r), r.id)), nil
		}}, nil
	}
}

func listRouters(c *call) (object, error) {
	owner, err := c.scopeOf(scopeOwn)
	if err != nil {
		return nil, err
	}
	n, byNetwork := refer(c, c.networks, "networkid")
	rows := c.routers.all(func(r *router) bool {
		on := n != nil && (r.network == n || (n.vpc != nil && r.vpc == n.vpc))
		return allOf(owner(r.owner), refersTo(c, c.routers, "id")(r), refersTo(c, c.zones, "zoneid")(r.zone), refersTo(c, c.vpcs, "vpcid")(r.vpc), refersTo(c, c.hosts, "hostid")(r.host),
			!byNetwork || on, c.choice("state", r.state), c.text("name", c.routerName(r)), c.keyword(c.routerName(r)), c.truth("forvpc", r.vpc != nil))
	})
	slices.Reverse(rows)
	return pageOf(c, "router", rows, c.routerObject)
}

func (s *Server) routerName(r *router) string {
	return fmt.Sprintf("r-%d-%s", r.db, s.settings["instance.name"])
}

// domain is the network domain of the guests behind a router.
func (r *router) domain() string {
	if r.vpc != nil {
		return r.vpc.domain
	}
	return r.network.domain
}

// publicSide is the address that a router leaves by, nil when it has none.
func (s *Server) publicSide(r *router) *publicIP {
	if r.vpc != nil {
		return s.sourceNATOfVPC(r.vpc)
	}
	return s.sourceNATOf(r.network)
}

func (c *call) routerObject(r *router) object {
	o := obj("id", r.id, "zoneid", r.zone.id, "zonename", r.zone.name).with("dns1", r.zone.attrs.get("dns1"))
	ip := c.publicSide(r)
	o = o.with("networkdomain", r.domain())
	if ip != nil {
		o = o.with("gateway", ip.ranges.gateway)
	}
	o = o.with("name", c.routerName(r))
	if r.host != nil {
		o = append(o, obj("podid", r.host.cluster.pod.id, "podname", r.host.cluster.pod.name)...)
		if r.state == routerRunning {
			o = append(o, obj("hostid", r.host.id, "hostname", r.host.name, "hostcontrolstate", "Enabled")...)
		}
		o = o.with("hypervisor", r.host.hypervisor)
	}
	o = append(o, c.routerSides(r, ip)...)
	o = append(o, obj("templateid", routerTemplate, "templatename", "SystemVM Template (simulator)", "created", stamp(r.created), "state", r.state)...)
	o = append(o, c.ownerFields(r.owner, "account")...)
	o = append(o, c.domainFirst(r.owner)...)
	o = append(o, obj("serviceofferingid", c.routerOffering(), "serviceofferingname", "System Offering For Software Router", "isredundantrouter", false,
		"redundantstate", "UNKNOWN", "version", "4.10.0", "scriptsversion", routerScripts, "role", "VIRTUAL_ROUTER")...)
	if r.vpc != nil {
		o = append(o, obj("vpcid", r.vpc.id, "vpcname", r.vpc.name)...)
	}
	o = append(o, obj("nic", c.routerNICs(r, ip), "requiresupgrade", false, "healthchecksfailed", false, "softwareversion", c.opts.Version+".0.0")...)
	if c.knows("4.20") {
		o = o.with("arch", "x86_64")
	}
	return o.with("hasannotations", false)
}

// Parts of every router that nothing refers to.
const (
	routerTemplate = "882a9cd8-ecd3-11f1-b146-02fc00000001"
	routerScripts  = "98234899-12ff-4cd7-9434-6531eda1561d"
	controlNetwork = "3d1343d1-e696-41fb-8089-747e6f9a1ac0"
)

// routerOffering is the service offering of routers, which network offerings refer to.
func (s *Server) routerOffering() string { return s.networkOfferings.rows[0].disk }

func (r *router) mac(side int) string {
	return fmt.Sprintf("%s:%02x:%02x:%02x", [...]string{"02:02:01", "0e:00:a9", "1e:00:a6"}[side], r.db>>16&0xff, r.db>>8&0xff, r.db&0xff)
}

func (r *router) control() string { return fmt.Sprintf("169.254.%d.%d", 1+r.db/250%250, 2+r.db%250) }

// routerSides shows the addresses of a router.
func (c *call) routerSides(r *router, ip *publicIP) object {
	o := obj("linklocalip", r.control(), "linklocalmacaddress", r.mac(1), "linklocalnetmask", "255.255.0.0", "linklocalnetworkid", controlNetwork)
	if ip != nil {
		o = append(o, obj("publicip", ip.address.String(), "publicmacaddress", r.mac(2), "publicnetmask", ip.ranges.netmask, "publicnetworkid", ip.ranges.network)...)
	}
	if n := r.network; n != nil && n.cidr.IsValid() {
		o = append(o, obj("guestipaddress", n.gateway.String(), "guestmacaddress", r.mac(0), "guestnetmask", netmaskOf(n.cidr), "guestnetworkid", n.id, "guestnetworkname", n.name)...)
	}
	return o
}

func (c *call) routerNICs(r *router, ip *publicIP) []object {
	out := []object{}
	if n := r.network; n != nil && n.cidr.IsValid() {
		uri := fmt.Sprintf("vlan://%d", n.vlan)
		out = append(out, obj("id", r.sides[0], "networkid", n.id, "networkname", n.name, "netmask", netmaskOf(n.cidr), "ipaddress", n.gateway.String(), "isolationuri", uri,
			"broadcasturi", uri, "traffictype", "Guest", "type", n.kind(), "isdefault", false, "macaddress", r.mac(0), "mtu", 1500))
	}
	out = append(out, obj("id", r.sides[1], "networkid", controlNetwork, "netmask", "255.255.0.0", "gateway", "169.254.0.1", "ipaddress", r.control(), "traffictype", "Control",
		"isdefault", false, "macaddress", r.mac(1)))
	if ip != nil {
		out = append(out, obj("id", r.sides[2], "networkid", ip.ranges.network, "netmask", ip.ranges.netmask, "gateway", ip.ranges.gateway, "ipaddress", ip.address.String(),
			"isolationuri", ip.ranges.vlan, "broadcasturi", ip.ranges.vlan, "traffictype", "Public", "isdefault", true, "macaddress", r.mac(2), "mtu", 1500))
	}
	return out
}
