package cloudsim

import (
	"strings"

	"github.com/capcat/capcat/test/cloudsim/internal/meta"
)

// kindOf says what an id parameter refers to, "" for things that the simulator does not know.
func (c *call) kindOf(p *meta.Param) string {
	if p.Name == "id" || p.Name == "ids" {
		if k, ok := c.spec.refers[p.Name]; ok {
			return k
		}
	}
	if k := kindByName(p.Name); k != "" {
		return k
	}
	if k, ok := c.spec.refers[p.Name]; ok {
		return k
	}
	for _, related := range p.RelatedAPIs() {
		if k := kindByCommand(related); k != "" {
			return k
		}
	}
	return kindByCommand(c.name)
}

// kindByName knows the parameters that mean the same thing in every command.
func kindByName(param string) string {
	return map[string]string{
		"zoneid": "zone", "zoneids": "zone", "sourcezoneid": "zone", "destzoneid": "zone", "destzoneids": "zone",
		"domainid": "domain", "domainids": "domain", "parentdomainid": "domain",
		"projectid": "project", "projectids": "project",
		"accountid": "account", "accountids": "account", "userid": "user", "jobid": "job", "roleid": "role",
		"ostypeid": "ostype", "oscategoryid": "oscategory", "templateid": "template", "parenttemplateid": "template",
		"serviceofferingid": "serviceoffering", "diskofferingid": "diskoffering", "overridediskofferingid": "diskoffering",
		"networkofferingid": "networkoffering", "vpcofferingid": "vpcoffering",
		"virtualmachineid": "vm", "virtualmachineids": "vm", "networkid": "network", "networkids": "network", "associatednetworkid": "network",
		"affinitygroupid": "affinitygroup", "affinitygroupids": "affinitygroup", "securitygroupid": "securitygroup", "securitygroupids": "securitygroup",
		"snapshotid": "snapshot", "userdataid": "userdata", "nicid": "nic", "groupid": "instancegroup", "volumeids": "volume",
		"volumeid": "volume", "hostid": "host", "podid": "pod", "clusterid": "cluster", "physicalnetworkid": "physicalnetwork",
		"ipaddressid": "publicip", "publicipid": "publicip", "vpcid": "vpc", "aclid": "acllist", "vlanid": "vlan",
		"managementserverid": "managementserver", "imagestoreid": "imagestore",
	}[param]
}

// kindByCommand knows what a command is about by the command that lists it.
func kindByCommand(command string) string {
	return map[string]string{
		"listZones": "zone", "listDomains": "domain", "listAccounts": "account", "listUsers": "user", "listRoles": "role",
		"listProjects": "project", "listOsTypes": "ostype", "listOsCategories": "oscategory", "listTemplates": "template",
		"listServiceOfferings": "serviceoffering", "listDiskOfferings": "diskoffering", "listNetworkOfferings": "networkoffering",
		"listVPCOfferings": "vpcoffering", "listVirtualMachines": "vm", "listNetworks": "network", "listVolumes": "volume",
		"listHosts": "host", "listPods": "pod", "listClusters": "cluster", "listPhysicalNetworks": "physicalnetwork",
		"listEvents": "event", "queryAsyncJobResult": "job", "listManagementServers": "managementserver",
		"listImageStores": "imagestore", "listStoragePools": "storagepool", "listIsos": "template",
		"listAffinityGroups": "affinitygroup", "listPublicIpAddresses": "publicip", "listVPCs": "vpc",
		"listNetworkACLLists": "acllist", "listSecurityGroups": "securitygroup", "listSSHKeyPairs": "sshkeypair",
		"listProjectInvitations": "projectinvitation", "listProjectRoles": "projectrole",
	}[command]
}

// knows says whether the server's release has what came with the release since.
func (s *Server) knows(since string) bool {
	return since == "" || compareReleases(since, s.opts.Version) <= 0
}

// compareReleases compares the first two numbers of releases such as 4.20, 4.19.0.0 and 4.9.
func compareReleases(a, b string) int {
	am, an := majorMinor(a)
	bm, bn := majorMinor(b)
	if am != bm {
		return am - bm
	}
	return an - bn
}

func majorMinor(s string) (major, minor int) {
	s = strings.TrimLeft(s, "v")
	parts := strings.SplitN(s, ".", 3)
	n, _ := number(parts[0])
	m := int64(0)
	if len(parts) > 1 {
		m, _ = number(parts[1])
	}
	return int(n), int(m)
}
