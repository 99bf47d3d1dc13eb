package cloudsim

import (
	"maps"
	"time"
)

// networking is what the server manages between machines and the world.
type networking struct {
	publicRanges  *table[*publicRange]
	publicIPs     *table[*publicIP]
	firewallRules *table[*firewallRule]
	loadBalancers *table[*loadBalancer]
	forwardings   *table[*forwarding]
	vpcs          *table[*vpc]
	aclLists      *table[*aclList]
	aclItems      *table[*aclItem]
	routers       *table[*router]

	natted map[*machine]*publicIP // by static NAT

	ruleNumber int64 // last number of a rule: the database keeps rules of all purposes in one table
	overlaps   int   // see missed
}

func newNetworking() networking {
	return networking{
		publicRanges:  newTable[*publicRange]("vlan"),
		publicIPs:     newTable[*publicIP]("publicip"),
		firewallRules: newTable[*firewallRule]("firewallrule"),
		loadBalancers: newTable[*loadBalancer]("loadbalancer"),
		forwardings:   newTable[*forwarding]("forwarding"),
		vpcs:          newTable[*vpc]("vpc"),
		aclLists:      newTable[*aclList]("acllist"),
		aclItems:      newTable[*aclItem]("aclitem"),
		routers:       newTable[*router]("router"),
		natted:        map[*machine]*publicIP{},
	}
}

func (n *networking) tables() []lookuper {
	return []lookuper{n.publicRanges, n.publicIPs, n.firewallRules, n.loadBalancers, n.forwardings, n.vpcs, n.aclLists, n.aclItems, n.routers}
}

// nextRule numbers a rule of any purpose.
func (n *networking) nextRule() int64 {
	n.ruleNumber++
	return n.ruleNumber
}

// How long the jobs of a small installation take.
const (
	takesAddress   = 300 * time.Millisecond
	takesRule      = 100 * time.Millisecond
	takesMembers   = 800 * time.Millisecond
	takesRemoval   = 800 * time.Millisecond // of all removals, so that they end in the order in which they were asked for
	takesNetwork   = 900 * time.Millisecond
	takesQuick     = 500 * time.Millisecond
	takesShutdown  = 3 * time.Second // a network with a router has to be shut down first
	takesVPC       = 2 * time.Second
	takesOldRouter = 5 * time.Second // a router is replaced
)

// networkingCommands are about everything between machines and the world.
func networkingCommands() map[string]command {
	out := networkCommands()
	for _, noun := range []map[string]command{addressCommands(), firewallCommands(), loadBalancerCommands(), forwardingCommands(), vpcCommands(), aclCommands(), routerCommands()} {
		maps.Copy(out, noun)
	}
	return out
}

func networkCommands() map[string]command {
	return map[string]command{
		"listNetworks":          {sync: listNetworks, refers: byID("network")},
		"createNetwork":         {sync: createNetwork, required: []string{"name", "zoneid", "networkofferingid"}, notEmpty: []string{"name"}},
		"updateNetwork":         {async: updateNetwork, class: "user.network.UpdateNetworkCmd", adminClass: "admin.network.UpdateNetworkCmdByAdmin", takes: takesQuick, refers: byID("network")},
		"restartNetwork":        {async: restartNetwork, class: "user.network.RestartNetworkCmd", takes: time.Second, refers: byID("network")},
		"createNetworkOffering": {sync: createNetworkOffering},
		"updateNetworkOffering": {sync: updateNetworkOffering, refers: byID("networkoffering")},
		"deleteNetworkOffering": {sync: deleteNetworkOffering, refers: byID("networkoffering")},
		"deleteNetwork":         {async: deleteNetwork, class: "user.network.DeleteNetworkCmd", takes: takesNetwork, refers: byID("network")},
	}
}

func addressCommands() map[string]command {
	return map[string]command{
		"listPublicIpAddresses": {sync: listPublicIPAddresses, refers: byID("publicip")},
		"associateIpAddress": {async: associateIPAddress, class: "user.address.AssociateIPAddrCmd", adminClass: "admin.address.AssociateIPAddrCmdByAdmin",
			takes: takesAddress},
		"disassociateIpAddress": {async: disassociateIPAddress, class: "user.address.DisassociateIPAddrCmd", takes: takesRemoval, refers: byID("publicip")},
		"updateIpAddress":       {async: updateIPAddress, class: "user.address.UpdateIPAddrCmd", takes: takesRule, refers: byID("publicip")},
		"enableStaticNat":       {sync: enableStaticNat},
		"disableStaticNat":      {async: disableStaticNat, class: "user.nat.DisableStaticNatCmd", takes: takesRemoval},
	}
}

func firewallCommands() map[string]command {
	return map[string]command{
		"listFirewallRules":        {sync: listFirewallRules, refers: byID("firewallrule")},
		"createFirewallRule":       {async: createFirewallRule, class: "user.firewall.CreateFirewallRuleCmd", takes: takesQuick, required: []string{"ipaddressid", "protocol"}},
		"updateFirewallRule":       {async: updateFirewallRule, class: "user.firewall.UpdateFirewallRuleCmd", takes: takesRule, refers: byID("firewallrule")},
		"deleteFirewallRule":       {async: deleteFirewallRule, class: "user.firewall.DeleteFirewallRuleCmd", takes: takesRemoval, refers: byID("firewallrule")},
		"listEgressFirewallRules":  {sync: listEgressFirewallRules, refers: byID("firewallrule")},
		"createEgressFirewallRule": {async: createEgressFirewallRule, class: "user.firewall.CreateEgressFirewallRuleCmd", takes: takesQuick, required: []string{"networkid", "protocol"}},
		"updateEgressFirewallRule": {async: updateFirewallRule, class: "user.firewall.UpdateEgressFirewallRuleCmd", takes: takesRule, refers: byID("firewallrule")},
		"deleteEgressFirewallRule": {async: deleteFirewallRule, class: "user.firewall.DeleteEgressFirewallRuleCmd", takes: takesRemoval, refers: byID("firewallrule")},
	}
}

func loadBalancerCommands() map[string]command {
	return map[string]command{
		"listLoadBalancerRules": {sync: listLoadBalancerRules, refers: byID("loadbalancer")},
		"createLoadBalancerRule": {async: createLoadBalancerRule, class: "user.loadbalancer.CreateLoadBalancerRuleCmd", takes: takesRule,
			required: []string{"algorithm", "name", "publicport", "privateport"}},
		"updateLoadBalancerRule":        {async: updateLoadBalancerRule, class: "user.loadbalancer.UpdateLoadBalancerRuleCmd", takes: takesQuick, refers: byID("loadbalancer")},
		"deleteLoadBalancerRule":        {async: deleteLoadBalancerRule, class: "user.loadbalancer.DeleteLoadBalancerRuleCmd", takes: takesRemoval, refers: byID("loadbalancer")},
		"listLoadBalancerRuleInstances": {sync: listLoadBalancerRuleInstances, refers: byID("loadbalancer")},
		"assignToLoadBalancerRule":      {async: assignToLoadBalancerRule, class: "user.loadbalancer.AssignToLoadBalancerRuleCmd", takes: takesMembers, refers: byID("loadbalancer")},
		"removeFromLoadBalancerRule":    {async: removeFromLoadBalancerRule, class: "user.loadbalancer.RemoveFromLoadBalancerRuleCmd", takes: takesMembers, refers: byID("loadbalancer")},
	}
}

func forwardingCommands() map[string]command {
	return map[string]command{
		"listPortForwardingRules": {sync: listPortForwardingRules, refers: byID("forwarding")},
		"createPortForwardingRule": {async: createPortForwardingRule, class: "user.firewall.CreatePortForwardingRuleCmd", takes: takesQuick,
			required: []string{"ipaddressid", "privateport", "protocol", "publicport", "virtualmachineid"}},
		"updatePortForwardingRule": {async: updatePortForwardingRule, class: "user.firewall.UpdatePortForwardingRuleCmd", takes: takesQuick, refers: byID("forwarding")},
		"deletePortForwardingRule": {async: deletePortForwardingRule, class: "user.firewall.DeletePortForwardingRuleCmd", takes: takesRemoval, refers: byID("forwarding")},
	}
}

func vpcCommands() map[string]command {
	return map[string]command{
		"listVPCs":   {sync: listVPCs, refers: byID("vpc")},
		"createVPC":  {async: createVPC, class: "user.vpc.CreateVPCCmd", adminClass: "admin.vpc.CreateVPCCmdByAdmin", takes: takesVPC, required: []string{"zoneid", "name", "vpcofferingid"}},
		"updateVPC":  {async: updateVPC, class: "user.vpc.UpdateVPCCmd", adminClass: "admin.vpc.UpdateVPCCmdByAdmin", takes: takesQuick, refers: byID("vpc")},
		"restartVPC": {async: restartVPC, class: "user.vpc.RestartVPCCmd", takes: takesVPC, refers: byID("vpc")},
		"deleteVPC":  {async: deleteVPC, class: "user.vpc.DeleteVPCCmd", takes: takesRemoval, refers: byID("vpc")},
	}
}

func aclCommands() map[string]command {
	return map[string]command{
		"listNetworkACLLists":   {sync: listNetworkACLLists, refers: byID("acllist")},
		"createNetworkACLList":  {async: createNetworkACLList, class: "user.network.CreateNetworkACLListCmd", takes: takesRule},
		"updateNetworkACLList":  {async: updateNetworkACLList, class: "user.network.UpdateNetworkACLListCmd", takes: takesRule, refers: byID("acllist")},
		"deleteNetworkACLList":  {async: deleteNetworkACLList, class: "user.network.DeleteNetworkACLListCmd", takes: takesRemoval, refers: byID("acllist")},
		"replaceNetworkACLList": {async: replaceNetworkACLList, class: "user.network.ReplaceNetworkACLListCmd", takes: takesQuick},
		"listNetworkACLs":       {sync: listNetworkACLs, refers: byID("aclitem")},
		"createNetworkACL":      {async: createNetworkACL, class: "user.network.CreateNetworkACLCmd", takes: takesRule},
		"updateNetworkACLItem":  {async: updateNetworkACLItem, class: "user.network.UpdateNetworkACLItemCmd", takes: takesRule, refers: byID("aclitem")},
		"deleteNetworkACL":      {async: deleteNetworkACL, class: "user.network.DeleteNetworkACLCmd", takes: takesRemoval, refers: byID("aclitem")},
	}
}

func routerCommands() map[string]command {
	return map[string]command{
		"listRouters": {sync: listRouters, refers: byID("router")},
		"stopRouter":  {async: setRouterState(routerStopped), class: "admin.router.StopRouterCmd", takes: time.Second, refers: byID("router")},
		"startRouter": {async: setRouterState(routerRunning), class: "admin.router.StartRouterCmd", takes: time.Second, refers: byID("router")},
	}
}
