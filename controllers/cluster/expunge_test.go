package cluster_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/controllers/cloudstack"
)

// template makes a template that is ready.
func (w *world) template() string {
	w.T.Helper()
	osType, err := w.cloud.FindOSType(w.T.Context(), "Ubuntu 22.04 LTS")
	w.Must(err)
	made, err := w.cloud.RegisterTemplate(w.T.Context(), cloudstack.NewTemplate{
		Name: "t", DisplayText: "t", ZoneID: w.zoneID, Hypervisor: "Simulator", Format: "VHD", OSTypeID: osType.ID, Arch: "x86_64", RequiresHVM: true,
	}, "http://images.sim.example.org/t.vhd.bz2", "")
	w.Must(err)
	w.Clock.Step(time.Minute)
	return made.ID
}

// destroyedVM leaves a VM in a network that is destroyed and not expunged, so that its owner is not shown it.
func (w *world) destroyedVM(networkID string) {
	w.T.Helper()
	offerings, err := w.cloud.ServiceOfferings(w.T.Context(), ownerless, w.zoneID)
	w.Must(err)
	at := slices.IndexFunc(offerings, func(o cloudstack.ServiceOffering) bool { return o.Name == "Small Instance" })
	id, job, err := w.cloud.DeployVM(w.T.Context(), cloudstack.NewVM{
		Name: "vm", ZoneID: w.zoneID, OfferingID: offerings[at].ID, TemplateID: w.template(), Networks: []cloudstack.VMNetwork{{ID: networkID}},
	})
	w.await(job, err)
	w.await(w.cloud.DestroyVM(w.T.Context(), id, cloudstack.DestroyOptions{}))
}

// TestNetworkWaitsForTheExpunge: a destroyed VM holds the network for a day. Everything else goes, other clusters are not
// kept waiting, and the network goes when the server has expunged the VM.
func TestNetworkWaitsForTheExpunge(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{"expunge.delay", "expunge.interval"} {
		w.Call("admin", "updateConfiguration", "name", name, "value", "86400")
	}
	before := w.made()
	m := w.start(w.Client)
	m.Longest = 20 * time.Minute
	c := w.cluster("c1", spec(func(s *infrav1.CloudStackClusterSpec) {
		s.Zone = nil
		s.FailureDomains = []infrav1.FailureDomainSpec{domain("a", "net-a"), domain("b", "net-b")}
	}))
	got := m.Drive(c, ready)
	w.destroyedVM(got.Status.Domain("a").Network.ID)
	w.Must(w.Client.Delete(t.Context(), c.DeepCopy()))
	since := w.Clock.Now()
	m.Drive(c, because(infrav1.ReasonWaitingForExpunge))
	if now := w.made(); now.Networks != before.Networks+1 {
		t.Errorf("the cloud holds %+v, want the one network that is held", now)
	}
	other := w.cluster("c2")
	m.Drive(other, ready)
	m.delete(other)

	held := m.Drive(c, func(c *infrav1.CloudStackCluster) bool {
		return c != nil && c.Status.Deletion != nil && c.Status.Deletion.Attempts >= 5
	})
	message := condition(held, infrav1.ConditionReady).Message
	for _, part := range []string{"net-a", "5 tries", "since " + held.Status.Deletion.Since.UTC().Format(time.RFC3339), "expunge"} {
		if !strings.Contains(message, part) {
			t.Errorf("message %q does not tell %q", message, part)
		}
	}
	from := w.Calls("deleteNetwork")
	m.Drive(c, gone)
	w.wantMade(before)
	if waited := w.Clock.Since(since); waited < 20*time.Hour || waited > 72*time.Hour {
		t.Errorf("the network was held for %s", waited)
	}
	if tries := w.Calls("deleteNetwork") - from; tries > 300 {
		t.Errorf("%d tries to delete it", tries)
	}
}
