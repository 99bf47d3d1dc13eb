package cloudsim

import (
	"maps"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// readNICs reads which networks and addresses are asked for.
func (c *call) readNICs() ([]wantedNIC, error) {
	entries := c.maps["iptonetworklist"]
	networks, named := referAll(c, c.networks, "networkids")
	if len(entries) > 0 {
		if named || c.str("ipaddress") != "" {
			return nil, invalid("ipToNetworkMap can't be specified along with networkIds or ipAddress")
		}
		return c.readNICList(entries)
	}
	var out []wantedNIC
	for i, n := range networks {
		w := wantedNIC{network: n}
		if i == 0 {
			w.address, w.mac = c.str("ipaddress"), c.str("macaddress")
		}
		out = append(out, w)
	}
	return out, c.checkWanted(out)
}

func (c *call) readNICList(entries map[int]mapValues) ([]wantedNIC, error) {
	var out []wantedNIC
	for _, i := range slices.Sorted(maps.Keys(entries)) {
		e := mapValues{}
		for k, v := range entries[i] {
			e[strings.ToLower(k)] = v
		}
		n := resolveRow(c.networks, e["networkid"])
		if n == nil {
			return nil, invalid("Unable to translate and find entity with networkId: %s", e["networkid"])
		}
		out = append(out, wantedNIC{n, e["ip"], e["mac"]})
	}
	return out, c.checkWanted(out)
}

// checkWanted refuses addresses that are none.
func (c *call) checkWanted(nics []wantedNIC) error {
	for _, w := range nics {
		if w.address != "" {
			if a, err := netip.ParseAddr(w.address); err != nil || !a.Is4() {
				return invalid("Invalid specified IPv4 address %s", w.address)
			}
		}
		if w.mac != "" {
			if _, err := net.ParseMAC(w.mac); err != nil {
				return invalid("Mac address is not valid: %s", w.mac)
			}
		}
	}
	return nil
}

// defaultNICs checks the networks that were named; without any, the account's only isolated one is taken or made.
func (c *call) defaultNICs(d *deployment) error {
	for _, w := range d.nics {
		if err := c.mayDeployOn(w.network, d.m.owner); err != nil {
			return err
		}
	}
	if len(d.nics) > 0 {
		return nil
	}
	if d.m.zone.attrs.get("securitygroupsenabled") == true {
		return c.sharedDefault(d)
	}
	own := c.networks.all(func(n *network) bool { return n.owner == d.m.owner && n.zone == d.m.zone && n.kind() == "Isolated" })
	switch len(own) {
	case 0: // one is made, once the limits allow it
		return nil
	case 1:
		d.nics = []wantedNIC{{network: own[0], address: c.str("ipaddress"), mac: c.str("macaddress")}}
		return c.checkWanted(d.nics)
	}
	return invalid("More than 1 default Isolated networks are found for account %s; please specify networkIds", d.m.owner.asText())
}

// asText prints an account as refusals do, with its own id.
func (a *account) asText() string {
	return `Account [{"accountName":` + strconv.Quote(a.name) + `,"id":` + formatInt(a.db) + `,"uuid":"` + a.id + `"}]`
}

// sharedDefault takes the shared network of a zone with security groups.
func (c *call) sharedDefault(d *deployment) error {
	for _, n := range c.networks.all(func(n *network) bool { return n.zone == d.m.zone && n.kind() == "Shared" }) {
		if c.mayDeployOn(n, d.m.owner) == nil {
			d.nics = []wantedNIC{{network: n, address: c.str("ipaddress")}}
			return c.checkWanted(d.nics)
		}
	}
	return nil
}

// defaultNetwork makes the network of an account that has none.
func (c *call) defaultNetwork(m *machine) (*network, error) {
	if err := c.checkLimit(m.owner, limitNetwork, 1, csPlain); err != nil {
		return nil, err
	}
	o := c.defaultNetworkOffering()
	if o == nil {
		return nil, internal("Unable to find network offering with availability=Required")
	}
	n := &network{owner: m.owner, name: m.owner.name + "-network", text: m.owner.name + "-network", zone: m.zone, offering: o, state: networkAllocated}
	n.cidr, n.gateway = m.zone.guests()
	c.insertNetwork(n)
	return n, nil
}

// defaultNetworkOffering is the one that networks are made of which nobody asked for.
func (s *Server) defaultNetworkOffering() *offering {
	for _, o := range s.networkOfferings.rows {
		if o.attrs.str("availability") == "Required" && o.attrs.str("guestiptype") == "Isolated" && !o.flag("forvpc") && o.supports([]string{"SourceNat"}) {
			return o
		}
	}
	return nil
}
