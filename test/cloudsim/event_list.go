package cloudsim

import (
	_ "embed"
	"slices"
	"strings"
	"time"
)

//go:embed seed/eventtypes.txt
var eventTypesText string

func listEventTypes(c *call) (object, error) {
	return whole("eventtype", strings.Fields(eventTypesText), func(name string) object { return obj("name", name) })
}

// listEvents shows the log: the newest page comes first, within a page the oldest event.
func listEvents(c *call) (object, error) {
	owner, err := c.scopeOf(scopeOwn)
	if err != nil {
		return nil, err
	}
	if c.str("resourceid") != "" && c.str("resourcetype") == "" {
		return nil, invalid("resourceid parameter must be used with resourcetype parameter")
	}
	if t := c.str("resourcetype"); t != "" && !eventResource(t) {
		return nil, invalid("Invalid resourcetype")
	}
	from, to := c.dates()
	rows := c.events.all(func(e *eventRow) bool {
		return owner(e.account) && !e.created.Before(from) && !e.created.After(to) && (c.text("startid", e.start) || c.text("startid", e.id)) &&
			allOf(c.text("id", e.id), c.text("type", e.kind), c.text("level", e.level), c.text("state", e.state), c.text("resourceid", e.resource),
				c.text("resourcetype", e.resourceType), c.keyword(e.kind, e.text, e.level))
	})
	slices.Reverse(rows)
	out, err := pageOf(c, "event", rows, c.eventObject)
	if page, ok := out.get("event").([]object); ok {
		slices.Reverse(page)
	}
	return out, err
}

// eventResource says whether events can be about a type of resource.
func eventResource(name string) bool {
	for _, known := range []string{"None", "Account", "AffinityGroup", "AutoScaleVmGroup", "BGPPeer", "Bucket", "Cluster", "Condition", "ConsoleProxy", "Counter", "DiskOffering", "Domain",
		"DomainRouter", "FirewallRule", "GlobalLoadBalancerRule", "Host", "ImageStore", "InternalLbVm", "Ip6Address", "IpAddress", "Iso", "KubernetesCluster", "LoadBalancerRule",
		"ManagementServer", "Network", "NetworkAcl", "NetworkAclItem", "NetworkOffering", "ObjectStore", "Pod", "PortForwardingRule", "PrivateGateway", "Project", "RemoteAccessVpn",
		"SecurityGroup", "ServiceOffering", "Snapshot", "SnapshotPolicy", "SSHKeyPair", "StaticRoute", "StoragePool", "SystemVm", "Template", "User", "UserData", "VirtualMachine", "VmSnapshot",
		"Volume", "Vpc", "VpcOffering", "VpnCustomerGateway", "VpnGateway", "Zone"} {
		if strings.EqualFold(known, name) {
			return true
		}
	}
	return false
}

func (c *call) dates() (from, to time.Time) {
	to = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)
	if t, ok := parseDate(c.str("startdate")); ok {
		from = t
	}
	if t, ok := parseDate(c.str("enddate")); ok {
		to = t
		if len(c.str("enddate")) == len("2006-01-02") {
			to = to.Add(24*time.Hour - time.Second)
		}
	}
	return from, to
}

func (c *call) eventObject(e *eventRow) object {
	o := obj("id", e.id, "username", e.user, "type", e.kind, "level", e.level, "description", e.text)
	o = append(o, c.ownerFields(e.account, "account")...)
	o = append(o, c.domainFirst(e.account)...)
	o = o.text("resourceid", e.resource).text("resourcetype", e.resourceType).text("resourcename", e.resourceName)
	return o.with("created", stamp(e.created)).with("state", e.state).text("parentid", e.start)
}
