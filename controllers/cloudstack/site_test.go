package cloudstack_test

import (
	"testing"
	"time"

	"github.com/capcat/capcat/controllers/cloudstack"
	"github.com/capcat/capcat/test/cloudsim"
)

const mark = "capcat.owner"

// site is what machines are made of in a simulated zone.
type site struct {
	*cloud
	*cloudstack.Session
	zone, network string
	vm            cloudstack.NewVM
}

// newSite has a network of an ordinary account, and a machine ready to be deployed in it.
func newSite(t *testing.T) *site {
	t.Helper()
	return newSiteOf(t, "tenant")
}

// newSiteOf is newSite for a caller, of whom only an administrator has no limits.
func newSiteOf(t *testing.T, caller string) *site {
	t.Helper()
	c := newCloud(t, cloudsim.Options{Preset: cloudsim.PresetRecorded})
	s := &site{cloud: c, Session: c.as(t, caller)}
	zone, err := s.FindZone(t.Context(), "", "zone-a")
	if err != nil {
		t.Fatal(err)
	}
	s.zone = zone.ID
	s.network = s.makeNetwork(t, "net")
	s.vm = cloudstack.NewVM{
		Name: "vm", DisplayName: "ns/vm", ZoneID: s.zone, Networks: []cloudstack.VMNetwork{{ID: s.network}},
		OfferingID: s.offering(t, "Small Instance"), TemplateID: s.template(t), Details: map[string]string{mark: "me"},
	}
	return s
}

func (s *site) offering(t *testing.T, name string) string {
	t.Helper()
	offerings, err := s.ServiceOfferings(t.Context(), cloudstack.Owner{}, s.zone)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range offerings {
		if o.Name == name {
			return o.ID
		}
	}
	t.Fatalf("no offering %s in %+v", name, offerings)
	return ""
}

func (s *site) template(t *testing.T) string {
	t.Helper()
	n := newTemplate(t, s.Session, "image")
	n.ZoneID = s.zone
	made, err := s.RegisterTemplate(t.Context(), n, simulatedSource, "")
	if err != nil {
		t.Fatal(err)
	}
	return made.ID
}

func (s *site) makeNetwork(t *testing.T, name string) string {
	t.Helper()
	offerings, err := s.NetworkOfferings(t.Context(), s.zone)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range offerings {
		if o.Name == "DefaultIsolatedNetworkOfferingWithSourceNatService" {
			id, err := s.CreateNetwork(t.Context(), cloudstack.NewNetwork{Name: name, DisplayText: mark + "=me", ZoneID: s.zone, OfferingID: o.ID})
			if err != nil {
				t.Fatal(err)
			}
			return id
		}
	}
	t.Fatalf("no offering for isolated networks in %+v", offerings)
	return ""
}

// calls counts the calls of a command; all of them without one.
func (c *cloud) calls(command string) int {
	n := 0
	for _, e := range c.Journal() {
		if command == "" || e.Command == command {
			n++
		}
	}
	return n
}

// deploy makes a machine and waits until it runs.
func (s *site) deploy(t *testing.T, n cloudstack.NewVM) string {
	t.Helper()
	id, job, err := s.DeployVM(t.Context(), n)
	if err != nil {
		t.Fatal(err)
	}
	s.await(t, job, nil)
	return id
}

// await steps the clock until a job has ended as expected.
func (s *site) await(t *testing.T, job cloudstack.Job, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	s.clock.Step(20 * time.Second)
	outcome, err := s.JobOutcome(t.Context(), job, "")
	if err != nil || outcome.State != cloudstack.JobSucceeded {
		t.Fatalf("the job is %+v, %v, want it succeeded", outcome, err)
	}
}
