package cloudsim

import (
	"slices"
	"strings"
)

// createNetworkOffering makes an offering for networks; unless it is enabled at once it can be used only after updateNetworkOffering.
func createNetworkOffering(c *call) (object, error) {
	kind := c.str("guestiptype")
	at := slices.IndexFunc([]string{kindIsolated, kindShared, kindL2}, func(k string) bool { return strings.EqualFold(k, kind) })
	switch {
	case at < 0:
		return nil, invalid("Invalid \"type\" parameter is given; can have Shared and Isolated values")
	case !strings.EqualFold(c.str("traffictype"), "Guest"):
		return nil, invalid("Only traffic type Guest is supported for network offering")
	}
	state := "Disabled"
	if c.flag("enable") {
		state = "Enabled"
	}
	text := c.str("displaytext")
	if text == "" {
		text = c.str("name")
	}
	attrs := obj("name", c.str("name"), "displaytext", text, "traffictype", "Guest", "isdefault", false, "specifyvlan", c.flag("specifyvlan"),
		"conservemode", c.flagOr("conservemode", true), "specifyipranges", c.flag("specifyipranges"), "availability", "Optional", "networkrate", int64(200), "state", state,
		"guestiptype", [...]string{kindIsolated, kindShared, kindL2}[at], "service", c.offeredServices(), "forvpc", c.flag("forvpc"), "fornsx", false, "fortungsten", false,
		"ispersistent", c.flag("ispersistent"), "egressdefaultpolicy", c.flag("egressdefaultpolicy"), "supportsstrechedl2subnet", false, "supportspublicaccess", false,
		"supportsinternallb", false, "internetprotocol", "IPv4", "specifyasnumber", false)
	o := c.networkOfferings.insert(&offering{base: c.newBase(), name: c.str("name"), attrs: attrs, disk: c.routerOffering()})
	return obj("networkoffering", networkOfferingObject(o)), nil
}

// offeredServices are the services of a new offering in the order of the server's lists, each with its provider.
func (c *call) offeredServices() []any {
	provider := map[string]string{}
	for _, entry := range c.maps["serviceproviderlist"] {
		provider[strings.ToLower(entry["service"])] = entry["provider"]
	}
	wanted := map[string]bool{}
	for _, name := range c.list("supportedservices") {
		wanted[strings.ToLower(name)] = true
	}
	out := []any{}
	for _, name := range []string{"SourceNat", "SecurityGroup", "Dns", "Dhcp", "Connectivity", "StaticNat", "UserData", "Lb", "Vpn", "Firewall", "NetworkACL", "PortForwarding", "Gateway"} {
		if !wanted[strings.ToLower(name)] {
			continue
		}
		p := provider[strings.ToLower(name)]
		if p == "" {
			p = "VirtualRouter"
		}
		service := obj("name", name, "provider", []any{obj("name", p)})
		if capability := offeredCapabilities(name); capability != nil {
			service = service.with("capability", capability)
		}
		out = append(out, service)
	}
	return out
}

// offeredCapabilities are what an offering can choose of a service.
func offeredCapabilities(service string) any {
	var out []any
	for _, kv := range map[string][][2]string{
		"SourceNat": {{"SupportedSourceNatTypes", "peraccount"}, {"RedundantRouter", "false"}},
		"StaticNat": {{"ElasticIp", "false"}, {"AssociatePublicIP", "false"}},
		"Lb":        {{"SupportedLBIsolation", "shared"}, {"ElasticLb", "false"}, {"InlineMode", "false"}, {"VmAutoScaling", "false"}},
	}[service] {
		out = append(out, obj("name", kv[0], "value", kv[1], "canchooseservicecapability", false))
	}
	if out == nil {
		return nil
	}
	return out
}

// ownOffering finds the network offering of a command that changes it.
func (c *call) ownOffering() (*offering, error) {
	o, _ := refer(c, c.networkOfferings, "id")
	if o == nil || !o.live() {
		return nil, invalid("unable to find network offering %s", c.str("id"))
	}
	return o, nil
}

// updateNetworkOffering renames an offering, enables or disables it.
func updateNetworkOffering(c *call) (object, error) {
	o, err := c.ownOffering()
	if err != nil {
		return nil, err
	}
	if s := c.str("state"); s != "" && !contains([]string{"enabled", "disabled"}, strings.ToLower(s)) {
		return nil, invalid("Incorrect state value: %s", s)
	}
	for _, param := range []string{"name", "displaytext", "state", "availability"} {
		if v := c.str(param); v != "" {
			if param == "state" {
				v = strings.ToUpper(v[:1]) + strings.ToLower(v[1:])
			}
			o.attrs = o.attrs.replace(param, v)
		}
	}
	o.name = o.attrs.str("name")
	return obj("networkoffering", networkOfferingObject(o)), nil
}

// deleteNetworkOffering removes an offering that no network uses.
func deleteNetworkOffering(c *call) (object, error) {
	o, err := c.ownOffering()
	if err != nil {
		return nil, err
	}
	used := c.networks.all(func(n *network) bool { return n.offering == o })
	switch isDefault, _ := o.attrs.get("isdefault").(bool); {
	case isDefault:
		return nil, invalid("Default network offering can't be deleted")
	case len(used) > 0:
		return nil, invalid("Can't delete network offering %d as its used by %d networks. To make the network offering unavailable, disable it", o.db, len(used))
	}
	o.removed = c.now()
	return success(), nil
}
