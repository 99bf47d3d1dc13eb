package cloudstack_test

import (
	"testing"
	"time"

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
