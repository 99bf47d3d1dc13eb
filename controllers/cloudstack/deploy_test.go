package cloudstack_test

import (
	"encoding/base64"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/capcat/capcat/controllers/cloudstack"
	"github.com/capcat/capcat/test/cloudsim"
)

// TestDeployFaults strikes the deployment and looks for what it left, as a controller does before it tries again.
func TestDeployFaults(t *testing.T) {
	tests := map[string]struct {
		phase, kind string
		want        cloudstack.Kind
		exists      bool
	}{
		"reset before": {cloudsim.PhaseBefore, cloudsim.FaultReset, cloudstack.LostReply, false},
		"reset during": {cloudsim.PhaseDuring, cloudsim.FaultReset, cloudstack.LostReply, true},
		"reset after":  {cloudsim.PhaseAfter, cloudsim.FaultReset, cloudstack.LostReply, true},
		"error before": {cloudsim.PhaseBefore, cloudsim.FaultError, cloudstack.Internal, false},
		"error after":  {cloudsim.PhaseAfter, cloudsim.FaultError, cloudstack.Internal, true},
		"429 before":   {cloudsim.PhaseBefore, cloudsim.Fault429, cloudstack.Throttled, false},
		"502 after":    {cloudsim.PhaseAfter, cloudsim.Fault502, cloudstack.LostReply, true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			before := s.clock.Now()
			s.clock.Step(time.Second)
			if found, err := s.VMsNamedSince(t.Context(), cloudstack.Owner{}, s.zone, "vm", before); err != nil || len(found) > 0 {
				t.Fatalf("before the call there is %+v, %v", found, err)
			}
			if err := s.AddFault(cloudsim.Fault{Command: "deployVirtualMachine", Phase: tc.phase, Kind: tc.kind}); err != nil {
				t.Fatal(err)
			}
			if _, _, err := s.DeployVM(t.Context(), s.vm); !cloudstack.Is(err, tc.want) {
				t.Fatalf("DeployVM() = %v, want %s", err, tc.want)
			}
			s.clock.Step(2 * time.Second)
			// The listing from before the call is younger than asked for, and proves nothing any more.
			found, err := s.VMsNamedSince(t.Context(), cloudstack.Owner{}, s.zone, "vm", before)
			if err != nil || (len(found) == 1 && found[0].Details[mark] == "me") != tc.exists {
				t.Errorf("after the call there is %+v, %v, want one: %t", found, err, tc.exists)
			}
		})
	}
}

func TestListingsAreSharedUntilSomethingIsDeployed(t *testing.T) {
	s := newSite(t)
	start := s.clock.Now()
	s.clock.Step(time.Second)
	before := s.calls("listVirtualMachines")
	for _, name := range []string{"a", "b", "c", "d"} {
		if _, err := s.VMsNamedSince(t.Context(), cloudstack.Owner{}, s.zone, name, start); err != nil {
			t.Fatal(err)
		}
		n := s.vm
		n.Name = name
		if _, _, err := s.DeployVM(t.Context(), n); err != nil {
			t.Fatal(err)
		}
	}
	if got := s.calls("listVirtualMachines") - before; got != 1 {
		t.Errorf("%d listings for four machines, want 1", got)
	}
	found, err := s.VMsNamedSince(t.Context(), cloudstack.Owner{}, s.zone, "b", start)
	if err != nil || len(found) != 1 {
		t.Errorf("asked again there is %+v, %v, want the machine", found, err)
	}
}

func TestWhatADeploymentSends(t *testing.T) {
	tests := map[string]struct {
		change func(n *cloudstack.NewVM)
		want   map[string]string
	}{
		"the least": {func(*cloudstack.NewVM) {}, map[string]string{"networkids": "n1", "details[0].capcat.owner": "me", "startvm": "true"}},
		"two networks": {func(n *cloudstack.NewVM) { n.Networks = []cloudstack.VMNetwork{{ID: "n1"}, {ID: "n2"}} },
			map[string]string{"networkids": "n1,n2"}},
		"an address": {func(n *cloudstack.NewVM) { n.Networks = []cloudstack.VMNetwork{{ID: "n1"}, {ID: "n2", IP: "10.0.0.9"}} },
			map[string]string{
				"networkids": "", "iptonetworklist[0].networkid": "n1", "iptonetworklist[0].ip": "",
				"iptonetworklist[1].networkid": "n2", "iptonetworklist[1].ip": "10.0.0.9",
			}},
		"disks": {func(n *cloudstack.NewVM) { n.RootDiskGiB, n.DiskOfferingID, n.DiskGiB = 40, "d", 7 },
			map[string]string{"rootdisksize": "40", "diskofferingid": "d", "size": "7"}},
		"a size without a disk": {func(n *cloudstack.NewVM) { n.DiskGiB = 7 }, map[string]string{"size": "", "diskofferingid": ""}},
		"user data":             {func(n *cloudstack.NewVM) { n.UserData = []byte("~*+ %41") }, map[string]string{"userdata": base64.StdEncoding.EncodeToString([]byte("~*+ %41"))}},
		"key and groups": {func(n *cloudstack.NewVM) { n.SSHKey, n.AffinityGroupIDs = "k", []string{"a", "b"} },
			map[string]string{"keypair": "k", "affinitygroupids": "a,b"}},
		"a project": {func(n *cloudstack.NewVM) { n.Owner = cloudstack.Owner{ProjectID: "p"} }, map[string]string{"projectid": "p", "account": ""}},
		"an account": {func(n *cloudstack.NewVM) { n.Owner = cloudstack.Owner{DomainID: "d", Account: "a"} },
			map[string]string{"projectid": "", "account": "a", "domainid": "d"}},
		"left stopped": {func(n *cloudstack.NewVM) { n.Stopped = true }, map[string]string{"startvm": "false"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s := newStub(t)
			method := ""
			s.on("deployVirtualMachine", func(w http.ResponseWriter, r *http.Request) {
				method = r.Method
				says(200, `{"deployvirtualmachineresponse":{"id":"v","jobid":"j"}}`)(w, r)
			})
			n := cloudstack.NewVM{
				Name: "vm", ZoneID: "z", OfferingID: "o", TemplateID: "t", Networks: []cloudstack.VMNetwork{{ID: "n1"}},
				Details: map[string]string{mark: "me"},
			}
			tc.change(&n)
			id, job, err := session(t, s).DeployVM(t.Context(), n)
			if err != nil || id != "v" || job != "j" || method != http.MethodPost {
				t.Fatalf("DeployVM() = %q, %q, %v by %s, want v and j by POST", id, job, err, method)
			}
			sent := map[string]string{}
			for key := range tc.want {
				sent[key] = s.calls("deployVirtualMachine")[0].Get(key)
			}
			if diff := cmp.Diff(tc.want, sent); diff != "" {
				t.Errorf("sent (-want +got):\n%s", diff)
			}
		})
	}
}
