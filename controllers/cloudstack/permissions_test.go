package cloudstack_test

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/capcat/capcat/test/cloudsim"
)

var update = flag.Bool("update", false, "write the generated page anew")

const permissionsPage = "../../docs/reference/api-permissions.md"

// purposes says what a command is needed for, and whether work goes on without it.
func purposes() map[string][2]string {
	return map[string][2]string{
		"addVirtualMachinesToKubernetesCluster":      {"show machines in the Kubernetes service", "with `syncWithACS`"},
		"assignToLoadBalancerRule":                   {"put control-plane machines behind the API endpoint", "with a load balancer"},
		"associateIpAddress":                         {"take the public address of the API endpoint", "with a load balancer"},
		"createAffinityGroup":                        {"make the affinity group that `affinity` asks for", "with `affinity`"},
		"createEgressFirewallRule":                   {"let machines of an isolated network out", "for isolated networks that are made"},
		"createFirewallRule":                         {"open the port of the API endpoint", "with a load balancer"},
		"createKubernetesCluster":                    {"show the cluster in the Kubernetes service", "with `syncWithACS`"},
		"createLoadBalancerRule":                     {"make the API endpoint", "with a load balancer"},
		"createNetwork":                              {"make an isolated network that does not exist", "for networks that are made"},
		"createTags":                                 {"repeat the owner mark where people see it", "no"},
		"createVPC":                                  {"make a VPC that does not exist", "for VPCs that are made"},
		"deleteAffinityGroup":                        {"delete affinity groups that were made", "with `affinity`"},
		"deleteFirewallRule":                         {"delete firewall and egress rules that were made", "with a load balancer"},
		"deleteKubernetesCluster":                    {"take the cluster out of the Kubernetes service", "with `syncWithACS`"},
		"deleteLoadBalancerRule":                     {"delete the API endpoint", "with a load balancer"},
		"deleteNetwork":                              {"delete networks that were made", "for networks that are made"},
		"deleteTags":                                 {"remove the owner mark from what stays", "no"},
		"deleteTemplate":                             {"delete failed templates, and retired ones with `deletePolicy: Delete`", "yes"},
		"deleteVPC":                                  {"delete VPCs that were made", "for VPCs that are made"},
		"deployVirtualMachine":                       {"make machines", "for machines"},
		"destroyVirtualMachine":                      {"delete machines", "for machines"},
		"disassociateIpAddress":                      {"give the public address back", "with a load balancer"},
		"getUploadParamsForTemplate":                 {"begin an upload", "for delivery `Upload`"},
		"listAccounts":                               {"find the account of `owner`", "with `owner.account`"},
		"listAffinityGroups":                         {"find affinity groups", "with `affinity` or `affinityGroupIDs`"},
		"listApis":                                   {"tell missing permissions before anything is made", "no"},
		"listAsyncJobs":                              {"follow all open jobs with one call", "no"},
		"listCapabilities":                           {"tell the version of the server, and whether machines may be expunged", "no"},
		"listDiskOfferings":                          {"find disk offerings", "with `diskOffering`"},
		"listEgressFirewallRules":                    {"see egress rules that are there, missing or changed", "for isolated networks that are made"},
		"listFirewallRules":                          {"see firewall rules that are there, missing or changed", "with a load balancer"},
		"listHypervisors":                            {"see that a host of the zone has the hypervisor", "yes"},
		"listKubernetesClusters":                     {"see what the Kubernetes service shows", "with `syncWithACS`"},
		"listLoadBalancerRuleInstances":              {"see which machines are behind the API endpoint", "with a load balancer"},
		"listLoadBalancerRules":                      {"see load-balancer rules that are there, missing or changed", "with a load balancer"},
		"listNetworkACLLists":                        {"find the ACL list of a tier that is made", "for tiers that are made"},
		"listNetworkACLs":                            {"see that the ACL list of a tier that is there lets clients and machines pass", "for tiers that are there"},
		"listNetworkOfferings":                       {"find the offering of a network that is to be made", "for networks that are made"},
		"listNetworks":                               {"find networks and see whether they still stand", "for clusters and machines"},
		"listOsTypes":                                {"find the OS type", "yes"},
		"listProjects":                               {"find the project of `owner`", "with `owner.project`"},
		"listPublicIpAddresses":                      {"find public addresses, and see whose one is before it is given back", "with a load balancer"},
		"listSSHKeyPairs":                            {"find SSH keys", "with `sshKey`"},
		"listServiceOfferings":                       {"find offerings", "for machines"},
		"listTags":                                   {"read owner marks back", "no"},
		"listTemplates":                              {"find templates and follow their state", "yes"},
		"listVPCOfferings":                           {"find the offering of a VPC that is to be made", "for VPCs that are made"},
		"listVPCs":                                   {"find VPCs", "with `network.vpc`"},
		"listVirtualMachines":                        {"find machines and follow their state; see that none uses a template that is to be deleted", "for machines, and with `deletePolicy: Delete`"},
		"listVolumes":                                {"find the data disks that go with a machine", "with `diskOffering`"},
		"listZones":                                  {"find the zone", "yes"},
		"queryAsyncJobResult":                        {"learn how a job ended", "yes"},
		"registerTemplate":                           {"register a template", "for delivery `Pull` and `Serve`"},
		"removeFromLoadBalancerRule":                 {"take machines from behind the API endpoint before they are destroyed", "with a load balancer"},
		"removeVirtualMachinesFromKubernetesCluster": {"show machines in the Kubernetes service no more", "with `syncWithACS`"},
		"startVirtualMachine":                        {"start a machine that was left stopped by a restart of the server", "for machines"},
		"stopVirtualMachine":                         {"stop a machine before it is destroyed, where that is asked for", "no"},
		"updateLoadBalancerRule":                     {"change algorithm or clients of the API endpoint in place", "with a load balancer"},
		"updateTemplate":                             {"repair an owner mark that somebody removed", "no"},
	}
}

// TestPermissionsPage compares the page with the commands that the code calls. Write it anew with -update.
func TestPermissionsPage(t *testing.T) {
	var page bytes.Buffer
	page.WriteString("# API commands that the account needs\n\n" +
		"<!-- Generated from the code by `go test ./controllers/cloudstack -run TestPermissionsPage -update`. Do not edit. -->\n\n" +
		"An ordinary CloudStack account with the role User may call all of them. A role of its own needs these:\n\n" +
		"| command | needed to | required |\n|---|---|---|\n")
	known := purposes()
	for _, command := range commandsInCode(t) {
		purpose, ok := known[command]
		if !ok {
			t.Errorf("the code calls %s, and nobody says what for", command)
		}
		delete(known, command)
		fmt.Fprintf(&page, "| `%s` | %s | %s |\n", command, purpose[0], purpose[1])
	}
	for command := range known {
		t.Errorf("%s has a purpose, and the code does not call it", command)
	}
	if *update {
		if err := os.MkdirAll(filepath.Dir(permissionsPage), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(permissionsPage, page.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(permissionsPage)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(page.String(), string(got)); diff != "" {
		t.Errorf("the page is not what the code says; run this test with -update (-want +got):\n%s", diff)
	}
}

// TestOrdinaryAccountSuffices asks the simulator, which knows the role User of a real server.
func TestOrdinaryAccountSuffices(t *testing.T) {
	s := newCloud(t, cloudsim.Options{}).as(t, "user")
	missing, err := s.Missing(t.Context(), commandsInCode(t)...)
	if err != nil || len(missing) > 0 {
		t.Errorf("an ordinary account lacks %v, %v", missing, err)
	}
}

// commandsInCode finds the calls c.Service.Verb(...) of the SDK client in this package, and the custom requests.
func commandsInCode(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if command := commandOf(n); command != "" {
				found[command] = true
			}
			return true
		})
	}
	var commands []string
	for command := range found {
		commands = append(commands, command)
	}
	slices.Sort(commands)
	return commands
}

func commandOf(n ast.Node) string {
	call, ok := n.(*ast.CallExpr)
	if !ok {
		return ""
	}
	verb, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	if verb.Sel.Name == "CustomRequest" {
		if literal, ok := call.Args[0].(*ast.BasicLit); ok {
			command, _ := strconv.Unquote(literal.Value)
			return command
		}
	}
	service, ok := verb.X.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	if client, ok := service.X.(*ast.Ident); !ok || client.Name != "c" || strings.HasPrefix(verb.Sel.Name, "New") {
		return ""
	}
	name := []rune(verb.Sel.Name)
	name[0] = unicode.ToLower(name[0])
	return string(name)
}
