package cloudsim_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/capcat/capcat/test/cloudsim"
)

// site is a network of a fresh account on a recorded server.
type site struct {
	*player
	as      string
	network string
}

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{player: newPlayer(t, "recorded"), as: "vm1"}
	s.network = s.isolated("net")
	return s
}

// do sends a call that has to be good and returns what is in its envelope.
func (s *site) do(command string, params ...string) map[string]any {
	s.t.Helper()
	got := s.try(command, params...)
	if got["errorcode"] != nil {
		s.t.Fatalf("%s %v: %v", command, params, got["errortext"])
	}
	return got
}

// try sends a call and returns what is in its envelope, errors too.
func (s *site) try(command string, params ...string) map[string]any {
	s.t.Helper()
	got := s.send(&step{As: s.as, Method: "POST", Sign: "ok", Command: &command, Params: pairs(params)})
	envelope, _ := got.body.(map[string]any)
	for _, inner := range envelope {
		if o, ok := inner.(map[string]any); ok {
			return o
		}
	}
	s.t.Fatalf("%s: %d %v", command, got.status, got.body)
	return nil
}

// wait follows a job to its end and returns "" or "code text".
func (s *site) wait(reply map[string]any) string {
	s.t.Helper()
	for range 60 {
		j := s.do("queryAsyncJobResult", "jobid", fmt.Sprint(reply["jobid"]))
		if j["jobstatus"] != 0.0 {
			if e, ok := j["jobresult"].(map[string]any); ok && e["errortext"] != nil {
				return fmt.Sprintf("%v %v", e["errorcode"], e["errortext"])
			}
			return ""
		}
		s.advance(time.Second)
	}
	s.t.Fatal("the job does not end")
	return ""
}

// job sends a call, waits for its job and returns the id of what it made.
func (s *site) job(command string, params ...string) string {
	s.t.Helper()
	reply := s.do(command, params...)
	if text := s.wait(reply); text != "" {
		s.t.Fatalf("%s %v: %s", command, params, text)
	}
	id, _ := reply["id"].(string)
	return id
}

// outcome sends a call, waits for its job and returns how it failed, "" for success.
func (s *site) outcome(command string, params ...string) string {
	s.t.Helper()
	reply := s.try(command, params...)
	if reply["errorcode"] != nil {
		return fmt.Sprintf("HTTP %v %v", reply["errorcode"], reply["errortext"])
	}
	if reply["jobid"] == nil {
		return ""
	}
	return s.wait(reply)
}

// list returns one field of every row of a list.
func (s *site) list(field, command string, params ...string) []string {
	s.t.Helper()
	out := []string{}
	for _, v := range s.do(command, params...) {
		rows, _ := v.([]any)
		for _, r := range rows {
			row, _ := r.(map[string]any)
			out = append(out, fmt.Sprint(row[field]))
		}
	}
	return out
}

func (s *site) isolated(name string, more ...string) string {
	s.t.Helper()
	params := append([]string{"name", name, "zoneid", s.seeded("zone/zone-a"), "networkofferingid", s.seeded("networkoffering/DefaultIsolatedNetworkOfferingWithSourceNatService")}, more...)
	return fmt.Sprint(dig(s.do("createNetwork", params...), "network.id"))
}

func (s *site) machine(name, network string) string {
	s.t.Helper()
	return s.job("deployVirtualMachine", "name", name, "serviceofferingid", s.seeded("offering/Small Instance"), "templateid", s.seeded("template/CentOS 5.6 (64-bit) no GUI (Simulator)"),
		"zoneid", s.seeded("zone/zone-a"), "networkids", network)
}

func (s *site) balancer(ip, port string, more ...string) string {
	s.t.Helper()
	return s.job("createLoadBalancerRule", append([]string{"algorithm", "roundrobin", "name", "api", "protocol", "tcp", "publicport", port, "privateport", port, "publicipid", ip}, more...)...)
}

func (s *site) refuse(command string) {
	s.t.Helper()
	if err := s.sim.AddFault(cloudsim.Fault{Command: command, Kind: cloudsim.FaultRefuse}); err != nil {
		s.t.Fatal(err)
	}
}

func (s *site) expect(what, got, want string) {
	s.t.Helper()
	if got != want {
		s.t.Errorf("%s: got %q, want %q", what, got, want)
	}
}

func (s *site) expectList(what string, got []string, want ...string) {
	s.t.Helper()
	if diff := cmp.Diff(append([]string{}, want...), got); diff != "" {
		s.t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// TestRouterRefusesFirewall: a rule that the router does not take is gone, one that it does not give up is listed until it hears of the address again.
func TestRouterRefusesFirewall(t *testing.T) {
	s := newSite(t)
	ip := s.job("associateIpAddress", "networkid", s.network)
	rule := []string{"ipaddressid", ip, "protocol", "tcp", "startport", "6443", "endport", "6443"}
	s.refuse("createFirewallRule")
	s.expect("create", s.outcome("createFirewallRule", rule...), "530 Failed to create firewall rule")
	s.expectList("rules", s.list("id", "listFirewallRules"))
	first := s.job("createFirewallRule", rule...)
	s.refuse("deleteFirewallRule")
	s.expect("delete", s.outcome("deleteFirewallRule", "id", first), "530 Failed to delete firewall rule")
	s.expectList("states", s.list("state", "listFirewallRules"), "Deleting")
	second := s.job("createFirewallRule", rule...)
	s.expectList("rules", s.list("id", "listFirewallRules"), second)
	egress := []string{"networkid", s.network, "protocol", "tcp", "startport", "443", "endport", "443"}
	s.refuse("createEgressFirewallRule")
	s.expect("egress", s.outcome("createEgressFirewallRule", egress...), "530 Failed to create firewall rule")
	s.expectList("egress rules", s.list("id", "listEgressFirewallRules"))
}

// TestRouterRefusesBalancer: whatever the router refuses of a load balancer, the rule is as it was before.
func TestRouterRefusesBalancer(t *testing.T) {
	s := newSite(t)
	ip := s.job("associateIpAddress", "networkid", s.network)
	vm := s.machine("a", s.network)
	lb := s.balancer(ip, "6443", "openfirewall", "false")
	s.refuse("assignToLoadBalancerRule")
	s.expect("assign", s.outcome("assignToLoadBalancerRule", "id", lb, "virtualmachineids", vm), "530 Failed to assign load balancer rule")
	s.expectList("members", s.list("id", "listLoadBalancerRuleInstances", "id", lb))
	s.expectList("state", s.list("state", "listLoadBalancerRules"), "Add")
	s.job("assignToLoadBalancerRule", "id", lb, "virtualmachineids", vm)
	for command, want := range map[string]string{
		"removeFromLoadBalancerRule": "530 Failed to remove specified load balancer rule id for vms [",
		"updateLoadBalancerRule":     "530 Failed to update load balancer rule: LoadBalancer {",
		"deleteLoadBalancerRule":     "530 Unable to remove load balancer rule LoadBalancer {",
	} {
		s.refuse(command)
		params := []string{"id", lb}
		switch command {
		case "removeFromLoadBalancerRule":
			params = append(params, "virtualmachineids", vm)
		case "updateLoadBalancerRule":
			params = append(params, "algorithm", "leastconn")
		}
		if got := s.outcome(command, params...); !strings.HasPrefix(got, want) {
			t.Errorf("%s: got %q", command, got)
		}
		s.expectList(command+": members", s.list("id", "listLoadBalancerRuleInstances", "id", lb), vm)
		s.expectList(command+": algorithm", s.list("algorithm", "listLoadBalancerRules"), "roundrobin")
		s.expectList(command+": state", s.list("state", "listLoadBalancerRules"), "Active")
	}
	s.refuse("createLoadBalancerRule")
	s.expect("openfirewall", s.outcome("createLoadBalancerRule", "algorithm", "source", "name", "b", "publicport", "80", "privateport", "80", "publicipid", ip), "530 Failed to create load balancer rule")
	s.expectList("rules", s.list("id", "listLoadBalancerRules"), lb)
	s.expectList("firewall", s.list("id", "listFirewallRules"))
	s.refuse("disassociateIpAddress")
	s.expect("release", s.outcome("disassociateIpAddress", "id", ip), "530 ip address is used for source nat purposes and can not be disassociated.")
}

// TestSlowRouter: with a slow router a delete overtakes a create, and a second equal rule is refused meanwhile.
func TestSlowRouter(t *testing.T) {
	s := newSite(t)
	ip := s.job("associateIpAddress", "networkid", s.network)
	if err := s.sim.AddFault(cloudsim.Fault{Command: "createFirewallRule", Kind: cloudsim.FaultSlow, Seconds: 6}); err != nil {
		t.Fatal(err)
	}
	rule := []string{"ipaddressid", ip, "protocol", "tcp", "startport", "7000", "endport", "7000"}
	slow := s.do("createFirewallRule", rule...)
	if got := s.outcome("createFirewallRule", rule...); !strings.HasPrefix(got, "HTTP 537 The range specified, 7000-7000, conflicts with rule FirewallRule {") {
		t.Errorf("again: %q", got)
	}
	s.job("deleteFirewallRule", "id", fmt.Sprint(slow["id"]))
	s.expect("create", s.wait(slow), "")
	s.expectList("rules", s.list("id", "listFirewallRules"))
}

// TestDeleteRace: an address that is taken while its network goes can be left over, and then nobody gets rid of it.
func TestDeleteRace(t *testing.T) {
	s := newSite(t)
	if err := s.sim.AddFault(cloudsim.Fault{Command: "deleteNetwork", Kind: cloudsim.FaultRace}); err != nil {
		t.Fatal(err)
	}
	ip := s.do("associateIpAddress", "networkid", s.network)
	id := fmt.Sprint(ip["id"])
	s.job("deleteNetwork", "id", s.network)
	s.expect("associate", s.wait(ip), "")
	s.expectList("address", s.list("associatednetworkid", "listPublicIpAddresses"), s.network)
	s.expect("list by network", s.outcome("listPublicIpAddresses", "associatednetworkid", s.network), "HTTP 530 Internal error executing command, please contact your system administrator")
	s.expect("release", s.outcome("disassociateIpAddress", "id", id), `530 Cannot invoke "com.cloud.network.Network.getId()" because "network" is null`)
	s.expectList("address", s.list("id", "listPublicIpAddresses"))
	s.expectList("state", s.list("state", "listPublicIpAddresses", "id", id, "allocatedonly", "false"), "Releasing")

	late := s.isolated("late")
	gone := s.do("deleteNetwork", "id", late)
	s.advance(700 * time.Millisecond)
	lost := s.do("associateIpAddress", "networkid", late)
	s.expect("delete", s.wait(gone), "")
	s.expect("associate", s.wait(lost), "431 Unable to find network by network id specified")
	s.expectList("state", s.list("state", "listPublicIpAddresses", "id", fmt.Sprint(lost["id"]), "allocatedonly", "false"), "Allocating")
}

// TestRemovalInAnyOrder: what a cluster has between machines and the world goes in whatever order it is asked to, without a wait in between.
func TestRemovalInAnyOrder(t *testing.T) {
	for _, backwards := range []bool{false, true} {
		t.Run(fmt.Sprint("backwards ", backwards), func(t *testing.T) {
			s := newSite(t)
			before := s.sim.Inventory()
			n := s.isolated("cluster")
			egress := s.job("createEgressFirewallRule", "networkid", n, "protocol", "all")
			s.job("associateIpAddress", "networkid", n)
			ip := s.job("associateIpAddress", "networkid", n)
			lb := s.balancer(ip, "6443", "openfirewall", "false")
			fw := s.job("createFirewallRule", "ipaddressid", ip, "protocol", "tcp", "startport", "6443", "endport", "6443")
			steps := [][2]string{{"deleteLoadBalancerRule", lb}, {"deleteFirewallRule", fw}, {"disassociateIpAddress", ip}, {"deleteEgressFirewallRule", egress}, {"deleteNetwork", n}}
			if backwards {
				slices.Reverse(steps[:4])
			}
			replies := []map[string]any{}
			for _, step := range steps {
				replies = append(replies, s.do(step[0], "id", step[1]))
				s.advance(10 * time.Millisecond)
			}
			for i, reply := range replies {
				got := s.wait(reply)
				gone := backwards && steps[i][0] == "deleteFirewallRule" // it went with its address
				if (got != "") != gone {
					t.Errorf("%s: %q", steps[i][0], got)
				}
			}
			after := s.sim.Inventory()
			if len(after.Networks) != len(before.Networks) || len(after.Rules) != len(before.Rules) || len(after.Addresses) != len(before.Addresses) {
				t.Errorf("left behind: %v", after.Rules)
			}
		})
	}
}

// TestNetworkIsCollected: some time after its last machine has stopped a network is shut down; a machine that comes back in time keeps it up.
func TestNetworkIsCollected(t *testing.T) {
	s := newSite(t)
	state := func() string { return s.list("state", "listNetworks", "id", s.network)[0] }
	vm := s.machine("a", s.network)
	s.expect("running", state(), "Implemented")
	s.job("stopVirtualMachine", "id", vm)
	s.advance(30 * time.Second)
	s.expect("stopped a while", state(), "Implemented")
	s.job("startVirtualMachine", "id", vm)
	s.advance(time.Minute)
	s.expect("running again", state(), "Implemented")
	s.job("stopVirtualMachine", "id", vm)
	s.advance(time.Minute)
	s.expect("stopped for long", state(), "Allocated")
	s.expectList("source NAT", s.list("issourcenat", "listPublicIpAddresses", "associatednetworkid", s.network), "true")
	s.expect("held by the stopped machine", s.outcome("deleteNetwork", "id", s.network), "530 Failed to delete network")
}

// TestSharedNetwork: its domain uses it, and nobody but root admins changes it.
func TestSharedNetwork(t *testing.T) {
	s := newSite(t)
	s.as = "admin"
	shared := fmt.Sprint(dig(s.do("createNetwork", "name", "shared", "zoneid", s.seeded("zone/zone-a"), "networkofferingid", s.seeded("networkoffering/DefaultSharedNetworkOffering"),
		"gateway", "10.70.0.1", "netmask", "255.255.255.0", "startip", "10.70.0.10", "endip", "10.70.0.11", "vlan", "700", "domainid", s.seeded("domain/team"), "acltype", "Domain"), "network.id"))
	s.expectList("root admin", s.list("id", "listNetworks", "id", shared))
	for want, params := range map[string][]string{
		"HTTP 431 Either IPv4 or IPv6 start and end address are mandatory":                {"gateway", "10.71.0.1", "netmask", "255.255.255.0"},
		"HTTP 431 gateway and netmask should be defined when startIP/endIP are passed in": {"startip", "10.71.0.10"},
		"HTTP 431 Parameter subDomainAccess can be specified only with aclType=Domain":    {"gateway", "10.71.0.1", "netmask", "255.255.255.0", "startip", "10.71.0.10", "vlan", "701", "acltype", "Account", "subdomainaccess", "true"},
		"HTTP 431 Invalid gateway IP provided. Either the IP is broadcast or network IP.": {"gateway", "10.71.0.0", "netmask", "255.255.255.0", "startip", "10.71.0.10", "vlan", "701"},
	} {
		params = append(params, "name", "bad", "zoneid", s.seeded("zone/zone-a"), "networkofferingid", s.seeded("networkoffering/DefaultSharedNetworkOffering"))
		s.expect(fmt.Sprint(params), s.outcome("createNetwork", params...), want)
	}
	s.expectList("root admin, all", s.list("id", "listNetworks", "id", shared, "listall", "true"), shared)
	s.as = "vm1"
	s.expectList("outside the domain", s.list("id", "listNetworks", "id", shared))
	s.expect("too large", s.outcome("createNetwork", "name", "large", "zoneid", s.seeded("zone/zone-a"), "networkofferingid",
		s.seeded("networkoffering/DefaultIsolatedNetworkOfferingWithSourceNatService"), "gateway", "10.71.0.1", "netmask", "255.255.0.0"), "HTTP 431 Cidr size can't be less than 22")
	s.as = "teamuser"
	s.expectList("inside the domain", s.list("state", "listNetworks", "id", shared), "Setup")
	want := "HTTP 531 Shared network Network {"
	for _, command := range []string{"updateNetwork", "restartNetwork", "deleteNetwork"} {
		if got := s.outcome(command, "id", shared); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q", command, got)
		}
	}
	s.expect("address", s.outcome("associateIpAddress", "networkid", shared), "HTTP 531 Caller does not have permission to operate with provided resource.")
	s.expect("egress", s.outcome("createEgressFirewallRule", "networkid", shared, "protocol", "all"), "HTTP 431 Egress firewall rules are not supported for Shared  networks")
	s.expect("tag", s.outcome("createTags", "resourcetype", "Network", "resourceids", shared, "tags[0].key", "a", "tags[0].value", "b"), "530 Caller does not have permission to operate with provided resource.")
	vm := s.machine("a", shared)
	s.expectList("guest address", s.list("ipaddress", "listVirtualMachines", "id", vm), "10.70.0.10")
	s.as = "admin"
	s.expect("held", s.outcome("deleteNetwork", "id", shared), "530 Failed to delete network")
}

// TestAddressesRunOut: a zone without free addresses refuses more, and a network comes up without.
func TestAddressesRunOut(t *testing.T) {
	s := newSite(t)
	s.as = "admin"
	n := s.isolated("all")
	last := ""
	for range 300 {
		reply := s.try("associateIpAddress", "networkid", n)
		if reply["errorcode"] != nil {
			s.expect("refusal", fmt.Sprintf("%v %v %v", reply["errorcode"], reply["cserrorcode"], reply["errortext"]), "533 9999 Insufficient address capacity")
			break
		}
		last = fmt.Sprint(reply["id"])
	}
	s.expectList("free", s.list("id", "listPublicIpAddresses", "state", "Free", "zoneid", s.seeded("zone/zone-a")))
	s.advance(time.Second)
	s.job("disassociateIpAddress", "id", last)
	s.expect("the id belongs to the address", fmt.Sprint(s.do("associateIpAddress", "networkid", n)["id"]), last)
}

// TestVPCAddresses: a load balancer takes an address for its tier, the VPC's own too; it comes back when the rule goes.
func TestVPCAddresses(t *testing.T) {
	s := newSite(t)
	v := s.job("createVPC", "name", "v", "cidr", "10.80.0.0/16", "zoneid", s.seeded("zone/zone-a"), "vpcofferingid", s.seeded("vpcoffering/Default VPC offering"), "start", "false")
	tier := fmt.Sprint(dig(s.do("createNetwork", "name", "t", "zoneid", s.seeded("zone/zone-a"), "networkofferingid", s.seeded("networkoffering/DefaultIsolatedNetworkOfferingForVpcNetworks"),
		"vpcid", v, "gateway", "10.80.1.1", "netmask", "255.255.255.0"), "network.id"))
	s.expectList("none yet", s.list("id", "listPublicIpAddresses", "vpcid", v))
	ip := s.job("associateIpAddress", "vpcid", v)
	s.expectList("the first leaves", s.list("issourcenat", "listPublicIpAddresses", "vpcid", v), "true")
	lb := s.balancer(ip, "6443", "networkid", tier)
	s.expectList("no longer", s.list("issourcenat", "listPublicIpAddresses", "id", ip), "false")
	s.expectList("another one does", s.list("issourcenat", "listPublicIpAddresses", "vpcid", v), "false", "true")
	s.expectList("of the tier", s.list("associatednetworkid", "listPublicIpAddresses", "id", ip), tier)
	s.job("deleteLoadBalancerRule", "id", lb)
	s.expectList("of no tier", s.list("associatednetworkid", "listPublicIpAddresses", "id", ip), "<nil>")
	s.job("deleteNetwork", "id", tier)
	s.job("deleteVPC", "id", v)
	s.expectList("addresses", s.list("id", "listPublicIpAddresses"))
}

// TestNetworksOfAProject: members work on what belongs to a project, and see it when they name the project.
func TestNetworksOfAProject(t *testing.T) {
	s := newSite(t)
	project := s.job("createProject", "name", "p", "displaytext", "p")
	n := s.isolated("of the project", "projectid", project)
	s.expectList("without the project", s.list("id", "listNetworks"), s.network)
	s.expectList("with the project", s.list("projectid", "listNetworks", "projectid", project), project)
	ip := s.job("associateIpAddress", "networkid", n)
	lb := s.balancer(ip, "80")
	for command, want := range map[string]string{"listPublicIpAddresses": ip, "listLoadBalancerRules": lb} {
		s.expectList(command, s.list("id", command))
		s.expectList(command+" with the project", s.list("id", command, "projectid", project), want)
	}
	s.as = "vm2"
	s.expect("stranger", s.outcome("deleteNetwork", "id", n), "HTTP 531 Caller does not have permission to operate with provided resource.")
}

// TestInventoryOfNetworks lists what a cluster leaves between machines and the world, and nothing once it is gone; but the tags of an address
// that goes with its network stay.
func TestInventoryOfNetworks(t *testing.T) {
	s := newSite(t)
	before := s.sim.Inventory()
	n := s.isolated("cluster")
	s.job("createEgressFirewallRule", "networkid", n, "protocol", "all")
	s.job("associateIpAddress", "networkid", n)
	ip := s.job("associateIpAddress", "networkid", n)
	s.job("createTags", "resourcetype", "PublicIpAddress", "resourceids", ip, "tags[0].key", "owner", "tags[0].value", "me")
	s.balancer(ip, "6443")
	in := s.sim.Inventory()
	kinds := []string{}
	for _, r := range in.Rules {
		kinds = append(kinds, r.Kind+" "+r.Ports)
	}
	slices.Sort(kinds)
	s.expectList("rules", kinds, "Egress ", "Firewall 6443-6443", "LoadBalancing 6443-6443")
	if len(in.Networks) != len(before.Networks)+1 || len(in.Addresses) != len(before.Addresses)+2 {
		t.Errorf("%d networks, %d addresses", len(in.Networks), len(in.Addresses))
	}
	s.job("deleteNetwork", "id", n)
	after := s.sim.Inventory()
	if diff := cmp.Diff(before.Rules, after.Rules); diff != "" || len(after.Addresses) != len(before.Addresses) || len(after.Tags) != len(before.Tags)+1 {
		t.Errorf("left behind: %s, %d addresses, %d tags", diff, len(after.Addresses)-len(before.Addresses), len(after.Tags)-len(before.Tags))
	}
}
