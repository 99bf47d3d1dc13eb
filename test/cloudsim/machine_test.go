package cloudsim_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/capcat/capcat/test/cloudsim"
)

// deploy sends a deploy of a machine and returns its envelope.
func (s *site) deploy(name string, more ...string) map[string]any {
	s.t.Helper()
	return s.try("deployVirtualMachine", append([]string{"name", name, "serviceofferingid", s.seeded("offering/Small Instance"), "zoneid", s.seeded("zone/zone-a"),
		"templateid", s.seeded("template/CentOS 5.6 (64-bit) no GUI (Simulator)"), "networkids", s.network}, more...)...)
}

// state is the state of a machine as root admins see it, "" when it is gone.
func (s *site) state(id string) string {
	s.t.Helper()
	as := s.as
	s.as = "admin"
	defer func() { s.as = as }()
	return strings.Join(s.list("state", "listVirtualMachines", "id", id), ",")
}

// states follows a machine in small steps for some seconds and returns the states that it had.
func (s *site) states(id string, seconds int) []string {
	s.t.Helper()
	var seen []string
	for range seconds * 10 {
		seen = append(seen, s.state(id))
		s.advance(100 * time.Millisecond)
	}
	return slices.Compact(seen)
}

func TestStatesOfAMachine(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	id := fmt.Sprint(s.deploy("m")["id"])
	got := map[string][]string{"deploy": s.states(id, 4)}
	for _, verb := range []string{"stop", "start", "destroy"} {
		s.do(verb+"VirtualMachine", "id", id)
		got[verb] = s.states(id, 8)
	}
	got["later"] = s.states(id, 40)
	want := map[string][]string{
		"deploy": {"Stopped", "Starting", "Running"}, "stop": {"Running", "Stopping", "Stopped"}, "start": {"Stopped", "Starting", "Running"},
		"destroy": {"Running", "Stopping", "Stopped", "Destroyed"}, "later": {"Destroyed", ""},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestHostsThatRefuse plays what the hosts of the recording server were made to do.
func TestHostsThatRefuse(t *testing.T) {
	t.Parallel()
	const machineText = `VM instance {"id":`
	tests := map[string]struct {
		command string
		kind    string
		more    []string
		want    string // how the outcome begins
		state   string
	}{
		"start":       {"startVirtualMachine", cloudsim.FaultRefuse, nil, "530 Unable to start a VM [", "Stopped"},
		"no room":     {"startVirtualMachine", cloudsim.FaultCapacity, nil, "530 Unable to start a VM [", "Stopped"},
		"stop":        {"stopVirtualMachine", cloudsim.FaultRefuse, nil, "530 Unable to stop " + machineText, "Running"},
		"forced stop": {"stopVirtualMachine", cloudsim.FaultRefuse, []string{"forced", "true"}, "530 Unable to stop the virtual machine due to ", "Stopping"},
		"reboot":      {"rebootVirtualMachine", cloudsim.FaultRefuse, nil, "530 Unable to get answer", "Running"},
		"destroy":     {"destroyVirtualMachine", cloudsim.FaultRefuse, nil, "530 Unable to stop " + machineText, "Running"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			id := s.machine("m", s.network)
			if test.command == "startVirtualMachine" {
				s.job("stopVirtualMachine", "id", id)
			}
			if err := s.sim.AddFault(cloudsim.Fault{Command: test.command, Kind: test.kind}); err != nil {
				t.Fatal(err)
			}
			if got := s.outcome(test.command, append([]string{"id", id}, test.more...)...); !strings.HasPrefix(got, test.want) {
				t.Errorf("outcome %q, want %q", got, test.want)
			}
			if got := s.state(id); got != test.state {
				t.Errorf("state %s, want %s", got, test.state)
			}
		})
	}
}

func TestDeployThatFails(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		kind, want string
		states     []string
	}{
		"no room":       {cloudsim.FaultCapacity, "533 No destination found for a deployment for VM instance {", []string{"Stopped", "Error"}},
		"every refuses": {cloudsim.FaultRefuse, "530 Unable to orchestrate the start of VM instance {", []string{"Stopped", "Starting", "Stopped", "Starting", "Error"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			if err := s.sim.AddFault(cloudsim.Fault{Command: "deployVirtualMachine", Kind: test.kind}); err != nil {
				t.Fatal(err)
			}
			reply := s.deploy("m")
			id := fmt.Sprint(reply["id"])
			if diff := cmp.Diff(test.states, s.states(id, 8)); diff != "" {
				t.Error(diff)
			}
			if got := s.wait(reply); !strings.HasPrefix(got, test.want) {
				t.Errorf("job %q, want %q", got, test.want)
			}
			if got := s.deploy("m")["errortext"]; !strings.Contains(fmt.Sprint(got), "already exists in the network domain") {
				t.Errorf("a deploy of the same name: %v", got)
			}
			s.job("destroyVirtualMachine", "id", id)
			if got := s.state(id); got != "Expunging" {
				t.Errorf("destroyed it is %s", got)
			}
			s.advance(time.Minute)
			if in := s.sim.Inventory(); len(in.Machines)+len(in.Volumes) > 0 {
				t.Errorf("left behind: %v %v", in.Machines, in.Volumes)
			}
		})
	}
}

// TestRefusedAddressLeavesARow is about the only refusal in the call itself that leaves something behind.
func TestRefusedAddressLeavesARow(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.network = s.isolated("tiny", "gateway", "10.77.1.1", "netmask", "255.255.255.252")
	s.machine("one", s.network)
	for range 2 {
		if got := s.deploy("two", "details[0].owner", "me"); got["errorcode"] != 530.0 || got["cserrorcode"] != 0.0 {
			t.Errorf("a deploy without an address: %v", got)
		}
	}
	want := []string{"Error", "Error"}
	if diff := cmp.Diff(want, s.list("state", "listVirtualMachines", "name", "two")); diff != "" {
		t.Error(diff)
	}
	if got := s.list("details", "listVirtualMachines", "name", "two"); !strings.Contains(got[0], "owner:me") {
		t.Errorf("the row has lost its mark: %v", got)
	}
}

func TestAffinity(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	strict := s.job("createAffinityGroup", "name", "apart", "type", "host anti-affinity")
	loose := s.job("createAffinityGroup", "name", "rather-apart", "type", "non-strict host anti-affinity")
	together := s.job("createAffinityGroup", "name", "together", "type", "host affinity")
	for i := range 4 { // zone-a has four hosts
		if got := s.wait(s.deploy(fmt.Sprintf("a%d", i), "affinitygroupids", strict)); got != "" {
			t.Fatal(got)
		}
	}
	fifth := s.wait(s.deploy("a4", "affinitygroupids", strict))
	if !strings.HasPrefix(fifth, "533 ") || !strings.HasSuffix(fifth, ", Please check the affinity groups provided, there may not be sufficient capacity to follow them") {
		t.Errorf("the fifth of a strict group: %q", fifth)
	}
	if got := len(s.list("id", "listVirtualMachines", "affinitygroupid", strict)); got != 4 {
		t.Errorf("%d members, want 4: one in Error is none", got)
	}
	for i := range 5 {
		if got := s.wait(s.deploy(fmt.Sprintf("l%d", i), "affinitygroupnames", "rather-apart")); got != "" {
			t.Errorf("a loose group: %s", got)
		}
	}
	for i := range 2 {
		s.wait(s.deploy(fmt.Sprintf("t%d", i), "affinitygroupids", together))
	}
	s.as = "admin"
	hosts := s.list("hostname", "listVirtualMachines", "affinitygroupid", together, "listall", "true")
	if len(slices.Compact(hosts)) != 1 {
		t.Errorf("hosts of machines that belong together: %v", hosts)
	}
	if got := len(slices.Compact(slices.Sorted(slices.Values(s.list("hostname", "listVirtualMachines", "affinitygroupid", loose, "listall", "true"))))); got != 4 {
		t.Errorf("a loose group is on %d hosts, want 4", got)
	}
}

func TestGroupsOfAMachineChange(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	id := s.machine("m", s.network)
	group := s.job("createAffinityGroup", "name", "apart", "type", "host anti-affinity")
	if got := s.outcome("updateVMAffinityGroup", "id", id, "affinitygroupids", group); !strings.HasPrefix(got, "431 Unable update affinity groups of the virtual machine VM instance") {
		t.Errorf("a running machine: %q", got)
	}
	s.job("stopVirtualMachine", "id", id)
	s.job("updateVMAffinityGroup", "id", id, "affinitygroupids", group)
	if diff := cmp.Diff([]string{"apart"}, s.list("name", "listAffinityGroups", "virtualmachineid", id)); diff != "" {
		t.Error(diff)
	}
	s.job("updateVMAffinityGroup", "id", id, "affinitygroupids", "")
	if got := s.list("name", "listAffinityGroups", "virtualmachineid", id); len(got) > 0 {
		t.Errorf("after an empty list: %v", got)
	}
	s.job("updateVMAffinityGroup", "id", id, "affinitygroupids", group)
	s.job("deleteAffinityGroup", "id", group)
	if got := s.list("affinitygroup", "listVirtualMachines", "id", id); got[0] != "[]" {
		t.Errorf("a deleted group is still there: %v", got)
	}
}

// TestSectionsShowNICsByAccident is about the row of a machine without the section that was not asked for.
func TestSectionsShowNICsByAccident(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	id := s.machine("m", s.network)
	nics := func(details string) int {
		row, err := json.Marshal(s.do("listVirtualMachines", "id", id, "details", details))
		if err != nil {
			t.Fatal(err)
		}
		return strings.Count(string(row), `"macaddress"`)
	}
	got := []int{nics("min"), nics("nics"), nics("all")}
	s.job("createTags", "resourcetype", "UserVm", "resourceids", id, "tags[0].key", "a", "tags[0].value", "1")
	got = append(got, nics("min"))
	s.job("createTags", "resourcetype", "UserVm", "resourceids", id, "tags[0].key", "b", "tags[0].value", "2")
	got = append(got, nics("min"))
	if diff := cmp.Diff([]int{0, 1, 1, 0, 1}, got); diff != "" {
		t.Error(diff)
	}
}

// TestDestroyLeavesDataDisks is about what destroying a machine does to disks.
func TestDestroyLeavesDataDisks(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	id := fmt.Sprint(s.deploy("m", "diskofferingid", s.seeded("diskoffering/Data 5"))["id"])
	s.advance(5 * time.Second)
	extra := s.job("createVolume", "name", "extra", "diskofferingid", s.seeded("diskoffering/Data 5"), "zoneid", s.seeded("zone/zone-a"))
	s.job("attachVolume", "id", extra, "virtualmachineid", id)
	if got := len(s.list("id", "listVolumes", "virtualmachineid", id)); got != 3 {
		t.Fatalf("%d disks, want 3", got)
	}
	s.job("destroyVirtualMachine", "id", id, "volumeids", extra)
	s.advance(time.Minute)
	var left []string
	for _, v := range s.sim.Inventory().Volumes {
		left = append(left, v.Name[:4]+" "+v.State)
	}
	if diff := cmp.Diff([]string{"DATA Ready"}, left); diff != "" {
		t.Error(diff)
	}
}

func TestInventoryOfMachines(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	id := s.machine("m", s.network)
	s.do("registerSSHKeyPair", "name", "k", "publickey", "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIDw8PDw8PDw8PDw8PDw8PDw8PDw8PDw8PDw8PDw8PDw8")
	s.job("createAffinityGroup", "name", "g", "type", "host affinity")
	s.do("createSecurityGroup", "name", "sg")
	s.job("createSnapshot", "volumeid", s.list("id", "listVolumes", "virtualmachineid", id)[0])
	s.job("createKubernetesCluster", "name", "c", "zoneid", s.seeded("zone/zone-a"), "clustertype", "ExternalManaged")
	in := s.sim.Inventory()
	own := func(items []cloudsim.InventoryItem) int {
		return len(slices.DeleteFunc(items, func(i cloudsim.InventoryItem) bool { return i.Account != s.as }))
	}
	got := []int{own(in.Machines), own(in.Volumes), own(in.KeyPairs), own(in.Affinity), own(in.Security), own(in.Snapshots), own(in.Clusters)}
	if diff := cmp.Diff([]int{1, 1, 1, 1, 1, 1, 1}, got); diff != "" {
		t.Error(diff)
	}
}

// TestDeploysAtTheSameTime is about deploys of one name that are sent together: nothing is locked, so that several may get through.
func TestDeploysAtTheSameTime(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.machine("first", s.network)
	command := "deployVirtualMachine"
	var steps []step
	for range 5 {
		steps = append(steps, step{As: s.as, Method: "POST", Sign: "ok", Command: &command, Params: map[string]string{"name": "twin", "networkids": s.network,
			"serviceofferingid": s.seeded("offering/Small Instance"), "templateid": s.seeded("template/CentOS 5.6 (64-bit) no GUI (Simulator)"), "zoneid": s.seeded("zone/zone-a")}})
	}
	through := 0
	for _, got := range s.together(steps) {
		if got.status == 200 {
			through++
		}
	}
	if through < 1 || through > 3 {
		t.Errorf("%d of 5 got through, want 1 to 3", through)
	}
	if got := s.deploy("twin"); got["errorcode"] != 431.0 {
		t.Errorf("one more, afterwards: %v", got)
	}
}

func TestMigrate(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	id := s.machine("m", s.network)
	if got := s.try("migrateVirtualMachine", "virtualmachineid", id); got["errorcode"] != 432.0 {
		t.Errorf("by a user: %v", got)
	}
	s.as = "admin"
	before := s.list("hostid", "listVirtualMachines", "id", id)
	s.do("migrateVirtualMachine", "virtualmachineid", id)
	if diff := cmp.Diff([]string{"Running", "Migrating", "Running"}, s.states(id, 2)); diff != "" {
		t.Error(diff)
	}
	if after := s.list("hostid", "listVirtualMachines", "id", id); after[0] == before[0] {
		t.Error("it is on the host where it was")
	}
}

// A machine is found by who made it, by its VPC and by whether it is to be highly available, and gets another size only while it is stopped.
func TestFiltersAndSizesOfAMachine(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	id := fmt.Sprint(s.deploy("m")["id"])
	s.advance(10 * time.Second)
	s.do("updateVirtualMachine", "id", id, "haenable", "true")
	vpc := s.job("createVPC", "name", "v", "displaytext", "v", "cidr", "10.0.0.0/16", "zoneid", s.seeded("zone/zone-a"), "vpcofferingid", s.seeded("vpcoffering/Default VPC offering"))
	user := s.list("userid", "listVirtualMachines", "haenable", "true")
	if diff := cmp.Diff(user, s.list("userid", "listVirtualMachines", "userid", user[0])); diff != "" {
		t.Error(diff)
	}
	for _, filter := range [][]string{{"haenable", "false"}, {"vpcid", vpc}} {
		if got := s.list("id", "listVirtualMachines", filter...); len(got) != 0 {
			t.Errorf("%v finds %v", filter, got)
		}
	}
	small, medium := s.seeded("offering/Small Instance"), s.seeded("offering/Medium Instance")
	change := func(command, offering string) string {
		return s.outcome(command, "id", id, "serviceofferingid", offering)
	}
	if got := change("changeServiceForVirtualMachine", medium); !strings.HasPrefix(got, "HTTP 431 Unable to upgrade virtual machine VM instance {") || !strings.HasSuffix(got, "}  in state Running; make sure the virtual machine is stopped") {
		t.Error(got)
	}
	s.job("stopVirtualMachine", "id", id)
	if got := change("changeServiceForVirtualMachine", medium); got != "" {
		t.Error(got)
	}
	if got := change("scaleVirtualMachine", medium); !strings.HasPrefix(got, "431 Not upgrading vm VM instance {") || !strings.HasSuffix(got, "} since it already has the requested service offering (Medium Instance)") {
		t.Error(got)
	}
	if got := change("scaleVirtualMachine", small); got != "" {
		t.Error(got)
	}
}

// Some lists can be asked for nothing but how long they are.
func TestListsThatOnlyCount(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.deploy("m")
	s.advance(10 * time.Second)
	for _, command := range []string{"listNetworks", "listPublicIpAddresses", "listVirtualMachines", "listVirtualMachinesMetrics", "listVolumes"} {
		whole, got := s.do(command), s.do(command, "retrieveonlyresourcecount", "true")
		if diff := cmp.Diff(map[string]any{"count": whole["count"]}, got); diff != "" || whole["count"] == nil {
			t.Errorf("%s: %v %s", command, whole["count"], diff)
		}
	}
}

func TestRefusedBootModes(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for mode, want := range map[string]string{
		"":     "bootmode must be specified for the VM with boot type: UEFI. Valid values are: [LEGACY, SECURE]",
		"slow": "Invalid bootmode: slow specified for VM: m. Valid values are: [LEGACY, SECURE]",
	} {
		if got := s.deploy("m", "boottype", "UEFI", "bootmode", mode)["errortext"]; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := s.deploy("m", "boottype", "BIOS", "bootmode", "slow", "startvm", "false")["errortext"]; got != nil {
		t.Error(got)
	}
}
