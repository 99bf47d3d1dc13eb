package machine_test

import (
	"strings"
	"testing"
	"time"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/controllers/cloudstack"
)

// registerAs makes a template of somebody, which is ready a moment later.
func (w *world) registerAs(who, name, zoneID string) string {
	w.T.Helper()
	session := w.Session(who)
	osType, err := session.FindOSType(w.T.Context(), "Ubuntu 22.04 LTS")
	w.Must(err)
	made, err := session.RegisterTemplate(w.T.Context(), cloudstack.NewTemplate{
		Name: name, DisplayText: name, ZoneID: zoneID, Hypervisor: "Simulator", Format: "VHD", OSTypeID: osType.ID, Arch: "x86_64", RequiresHVM: true,
		Details: map[string]string{infrav1.MarkOwner: "an-image"},
	}, "http://images.sim.example.org/t.vhd.bz2", "")
	w.Must(err)
	w.Clock.Step(time.Minute)
	return made.ID
}

func template(id, name string) change {
	return infra(func(s *infrav1.CloudStackMachineSpec) { s.Template = &infrav1.ResourceIdentifier{ID: id, Name: name} })
}

func sized(o infrav1.OfferingReference, details ...string) change {
	return infra(func(s *infrav1.CloudStackMachineSpec) {
		s.Offering, s.Details = o, map[string]infrav1.MachineDetailValue{}
		for i := 0; i+1 < len(details); i += 2 {
			s.Details[details[i]] = infrav1.MachineDetailValue(details[i+1])
		}
	})
}

func networks(all ...infrav1.MachineNetwork) change {
	return infra(func(s *infrav1.CloudStackMachineSpec) { s.Networks = all })
}

// badRow is a machine that cannot become what it asks for: the reason, and what the message says of it.
type badRow struct {
	change func(*world) change
	reason string
	says   []string
}

func plainly(c change) func(*world) change { return func(*world) change { return c } }

func badRows() map[string]badRow {
	return map[string]badRow{
		"a template of others, by name": {
			func(w *world) change {
				w.registerAs("other", "theirs", w.zones["zone-a"])
				return template("", "theirs")
			},
			infrav1.ReasonTemplateNotFound, []string{`"theirs"`},
		},
		"a template of others, by id": {
			func(w *world) change { return template(w.registerAs("other", "theirs", w.zones["zone-a"]), "") }, infrav1.ReasonNotPermitted, []string{"permission"},
		},
		"a template of another zone": {
			func(w *world) change { w.registerAs(caller, "b", w.zones["zone-b"]); return template("", "b") }, infrav1.ReasonTemplateNotFound, []string{`"b"`},
		},
		"a template of another zone, by id": {
			func(w *world) change { return template(w.registerAs(caller, "b", w.zones["zone-b"]), "") }, infrav1.ReasonTemplateNotFound, []string{"zone"},
		},
		"two templates": {
			func(w *world) change {
				w.registerAs(caller, "twin", w.zones["zone-a"])
				w.registerAs(caller, "twin", w.zones["zone-a"])
				return template("", "twin")
			}, infrav1.ReasonTemplateAmbiguous, []string{"give one of the ids"},
		},
		"a template in another case":       {plainly(template("", "Node")), infrav1.ReasonTemplateNotFound, []string{`"Node"`}},
		"a template of another name":       {func(w *world) change { return template(w.template, "nod") }, infrav1.ReasonTemplateNotFound, []string{`"node" and not "nod"`}},
		"two offerings":                    {plainly(sized(infrav1.OfferingReference{Name: "Medium Instance"})), infrav1.ReasonOfferingAmbiguous, []string{"give one of the ids"}},
		"an offering in another case":      {plainly(sized(infrav1.OfferingReference{Name: "small instance"})), infrav1.ReasonOfferingNotFound, []string{offering}},
		"an offering whose id is a name":   {plainly(sized(infrav1.OfferingReference{ID: "small"})), infrav1.ReasonOfferingNotFound, []string{"id small"}},
		"a custom offering without a size": {plainly(sized(infrav1.OfferingReference{Name: "Custom Unconstrained"})), infrav1.ReasonOfferingIncomplete, []string{"cpuNumber"}},
		"a custom offering out of bounds": {
			plainly(sized(infrav1.OfferingReference{Name: "Custom Constrained"}, "cpuNumber", "4000", "memory", "1024")),
			infrav1.ReasonOfferingIncomplete, []string{"from 2 to 8", "4000"},
		},
		"a fixed offering with a size": {
			plainly(sized(infrav1.OfferingReference{Name: offering}, "cpuNumber", "4", "memory", "1024")), infrav1.ReasonDeployRefused, []string{"static service offering"},
		},
		"a minimum that nothing has": {
			plainly(sized(infrav1.OfferingReference{Minimum: &infrav1.OfferingMinimum{CPU: 4000}})), infrav1.ReasonOfferingNotFound, []string{"4000 CPUs", "Large Instance"},
		},
		"a size beyond the limit": {plainly(sized(infrav1.OfferingReference{Name: "Huge Instance"})), infrav1.ReasonQuotaExceeded, []string{"cpu", "40"}},
		"a version of two numbers": {
			plainly(owner(func(s *clusterv1.MachineSpec) { s.Version = "v1.33" })), infrav1.ReasonInvalidSpec, []string{"three numbers"},
		},
		"a detail that is refused": {plainly(sized(infrav1.OfferingReference{Name: offering}, "extraconfig-1", "x")), infrav1.ReasonDeployRefused, []string{"extraconfig"}},
		"a root disk in a detail of other capitals": {
			plainly(sized(infrav1.OfferingReference{Name: offering}, "rootDiskSize", "1")), infrav1.ReasonRootDiskTooSmall, []string{"rootDiskSize", "1 GiB", "2 GiB"},
		},
		"an address that is taken": {
			plainly(networks(infrav1.MachineNetwork{Name: "net-zone-a", IP: "10.1.1.1"})), infrav1.ReasonDeployFailed, []string{"asks for 10.1.1.1"},
		},
		"an address of elsewhere": {
			plainly(networks(infrav1.MachineNetwork{Name: "net-zone-a", IP: "10.99.1.7"})), infrav1.ReasonDeployFailed, []string{"asks for 10.99.1.7"},
		},
		"an affinity group by name": {
			plainly(infra(func(s *infrav1.CloudStackMachineSpec) { s.AffinityGroupIDs = []string{"mine"} })), infrav1.ReasonAffinityGroupNotFound, []string{"id mine"},
		},
		"a failure domain whose name is longer": {
			plainly(infra(func(s *infrav1.CloudStackMachineSpec) { s.FailureDomainName = "fd-zone" })), infrav1.ReasonFailureDomainNotFound, []string{`"fd-zone"`, "fd-zone-a"},
		},
		"the VM of nobody": {
			plainly(infra(func(s *infrav1.CloudStackMachineSpec) {
				s.ProviderID = "cloudstack:///11111111-2222-4333-8444-555555555555"
			})),
			infrav1.ReasonInstanceLost, []string{"11111111"},
		},
		"the VM of another cloud": {
			plainly(infra(func(s *infrav1.CloudStackMachineSpec) { s.ProviderID = "aws:///eu-1/i-1234" })), infrav1.ReasonInvalidSpec, []string{"aws:///eu-1/i-1234"},
		},
	}
}

// TestBadMachinesAreToldAndGo: a condition says what is wrong, and the deletion of such a machine leaves nothing and waits for
// nobody.
func TestBadMachinesAreToldAndGo(t *testing.T) {
	for name, row := range badRows() {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			elsewhere, err := w.cloud.FindZone(t.Context(), "", "zone-b")
			w.Must(err)
			w.zones["zone-b"] = elsewhere.ID
			made := row.change(w)
			m := w.start(w.Client)
			cm := w.machine("worker", made)
			message := condition(m.Drive(cm, because(row.reason)), infrav1.ConditionReady).Message
			for _, text := range row.says {
				if !strings.Contains(message, text) {
					t.Errorf("message %q lacks %q", message, text)
				}
			}
			m.delete(cm)
			w.wantVMs(0)
		})
	}
}

// TestTwoMachinesOfOneProviderID: the second one neither takes the VM nor destroys it.
func TestTwoMachinesOfOneProviderID(t *testing.T) {
	w := newWorld(t)
	m := w.start(w.Client)
	first := m.Drive(w.machine("first"), ready)
	second := w.machine("second", infra(func(s *infrav1.CloudStackMachineSpec) { s.ProviderID = first.Spec.ProviderID }))
	m.Drive(second, because(infrav1.ReasonInstanceAmbiguous))
	m.delete(second)
	w.wantVMs(1)
	m.Drive(first, ready)
	m.delete(first)
	w.wantVMs(0)
}
