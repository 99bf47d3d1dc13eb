package cloudstack_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/capcat/capcat/controllers/cloudstack"
	"github.com/capcat/capcat/test/cloudsim"
)

func TestFindZone(t *testing.T) {
	c := newCloud(t, cloudsim.Options{})
	s := c.as(t, "user")
	byName, err := s.FindZone(t.Context(), "", "zone-kvm")
	if err != nil || byName.ID == "" || !byName.Enabled {
		t.Fatalf("FindZone by name = %+v, %v", byName, err)
	}
	byID, err := s.FindZone(t.Context(), strings.ToUpper(byName.ID), "")
	if diff := cmp.Diff(byName, byID); err != nil || diff != "" {
		t.Errorf("FindZone by id: %v (-by name +by id):\n%s", err, diff)
	}
	_, err = s.FindZone(t.Context(), "", "zone")
	if !cloudstack.Is(err, cloudstack.NotFound) || !strings.Contains(err.Error(), "zone-vmware") {
		t.Errorf("FindZone by a part of a name: %v, want NotFound and the names there are", err)
	}
	if _, err = s.FindZone(t.Context(), "11111111-2222-3333-4444-555555555555", ""); !cloudstack.Is(err, cloudstack.NotFound) {
		t.Errorf("FindZone by an unknown id: %v, want NotFound", err)
	}
}

func TestHypervisorsIn(t *testing.T) {
	c := newCloud(t, cloudsim.Options{})
	s := c.as(t, "user")
	for name, want := range map[string]string{"zone-kvm": "KVM", "zone-vmware": "VMware", "zone-xenserver": "XenServer"} {
		zone, err := s.FindZone(t.Context(), "", name)
		if err != nil {
			t.Fatal(err)
		}
		got, err := s.HypervisorsIn(t.Context(), zone.ID)
		if diff := cmp.Diff([]string{want}, got); err != nil || diff != "" {
			t.Errorf("HypervisorsIn(%s): %v (-want +got):\n%s", name, err, diff)
		}
	}
}

func TestFindOSType(t *testing.T) {
	s := newCloud(t, cloudsim.Options{}).as(t, "user")
	got, err := s.FindOSType(t.Context(), "Ubuntu 22.04 LTS")
	if err != nil || got.Description != "Ubuntu 22.04 LTS" {
		t.Fatalf("FindOSType = %+v, %v", got, err)
	}
	for name, wanted := range map[string]string{"by id": got.ID, "in another case": "ubuntu 22.04 lts"} {
		if again, err := s.FindOSType(t.Context(), wanted); err != nil || again != got {
			t.Errorf("FindOSType %s = %+v, %v, want %+v", name, again, err, got)
		}
	}
	if _, err := s.FindOSType(t.Context(), "Ubuntu 22.04"); !cloudstack.Is(err, cloudstack.NotFound) {
		t.Errorf("FindOSType by a part: %v, want NotFound", err)
	}
}

func TestFindOwner(t *testing.T) {
	c := newCloud(t, cloudsim.Options{})
	user, admin := c.as(t, "user"), c.as(t, "admin")
	mine, err := user.FindOwner(t.Context(), cloudstack.OwnerName{Domain: "ROOT", Account: "user"})
	if err != nil || mine.DomainID == "" {
		t.Fatalf("a user's own account = %+v, %v", mine, err)
	}
	for name, domain := range map[string]string{"slashes": "/ROOT/", "another case": "root", "id": mine.DomainID} {
		got, err := admin.FindOwner(t.Context(), cloudstack.OwnerName{Domain: domain, Account: "user"})
		if err != nil || got != mine {
			t.Errorf("the account by %s = %+v, %v, want %+v", name, got, err, mine)
		}
	}
	for name, owner := range map[string]cloudstack.OwnerName{
		"another domain": {Domain: "ROOT/nowhere", Account: "user"}, "nobody": {Domain: "ROOT", Account: "nobody"}, "project": {Project: "none"},
	} {
		if _, err := admin.FindOwner(t.Context(), owner); !cloudstack.Is(err, cloudstack.NotFound) {
			t.Errorf("%s: %v, want NotFound", name, err)
		}
	}
}

func TestVersionAndPermissions(t *testing.T) {
	for _, version := range []string{"4.19", "4.22"} {
		s := newCloud(t, cloudsim.Options{Version: version}).as(t, "user")
		if got, err := s.Version(t.Context()); err != nil || !strings.HasPrefix(got, version) {
			t.Errorf("Version() = %q, %v, want %s", got, err, version)
		}
		missing, err := s.Missing(t.Context(), "registerTemplate", "createZone", "noSuchCommand")
		if diff := cmp.Diff([]string{"createZone", "noSuchCommand"}, missing); err != nil || diff != "" {
			t.Errorf("Missing(): %v (-want +got):\n%s", err, diff)
		}
	}
}

// newTemplate is a template that the recorded preset's simulated storage has ready at once.
func newTemplate(t *testing.T, s *cloudstack.Session, name string) cloudstack.NewTemplate {
	t.Helper()
	zones, err := s.Zones(t.Context())
	if err != nil || len(zones) == 0 {
		t.Fatalf("no zones: %v", err)
	}
	osType, err := s.FindOSType(t.Context(), "Ubuntu 22.04 LTS")
	if err != nil {
		t.Fatal(err)
	}
	return cloudstack.NewTemplate{
		Name: name, DisplayText: name, ZoneID: zones[0].ID, Hypervisor: "Simulator", Format: "VHD", OSTypeID: osType.ID, Arch: "x86_64",
		Details: map[string]string{"capcat.owner": "me", "a.b": "c"}, RequiresHVM: true,
	}
}

const simulatedSource = "http://images.sim.example.org/t.vhd.bz2"

func TestTemplateLife(t *testing.T) {
	c := newCloud(t, cloudsim.Options{Preset: cloudsim.PresetRecorded})
	s := c.as(t, "tenant")
	n := newTemplate(t, s, "mine")
	made, err := s.RegisterTemplate(t.Context(), n, simulatedSource, "")
	if err != nil {
		t.Fatal(err)
	}
	other := n
	other.Name = "mine-too"
	if _, err := s.RegisterTemplate(t.Context(), other, simulatedSource, ""); err != nil {
		t.Fatal(err)
	}
	found, err := s.Templates(t.Context(), cloudstack.TemplateQuery{ZoneID: n.ZoneID, Name: "mine"})
	if err != nil || len(found) != 1 || found[0].ID != made.ID || !found[0].Ready || found[0].State.Stage != cloudstack.StageReady {
		t.Fatalf("Templates() = %+v, %v, want the one that was made", found, err)
	}
	if diff := cmp.Diff(n.Details, found[0].Details); diff != "" {
		t.Errorf("details (-want +got):\n%s", diff)
	}

	if err := s.UpdateDetails(t.Context(), cloudstack.Owner{}, n.ZoneID, made.ID, map[string]string{"a.b": "d", "new": "x"}); err != nil {
		t.Fatal(err)
	}
	job, err := s.TagTemplate(t.Context(), made.ID, map[string]string{"capcat.owner": "me"})
	if err != nil || job == "" {
		t.Fatalf("TagTemplate() = %q, %v", job, err)
	}
	c.clock.Step(time.Minute)
	one, err := s.FindTemplate(t.Context(), cloudstack.Owner{}, n.ZoneID, made.ID)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"capcat.owner": "me", "a.b": "d", "new": "x"}, one.Details); diff != "" {
		t.Errorf("details after an update (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{"capcat.owner": "me"}, one.Tags); diff != "" {
		t.Errorf("tags (-want +got):\n%s", diff)
	}

	job, err = s.DeleteTemplate(t.Context(), cloudstack.Owner{}, n.ZoneID, made.ID)
	if err != nil {
		t.Fatal(err)
	}
	woken := false
	s.Follow(job, "deleteTemplate", func() { woken = true })
	c.clock.Step(time.Minute)
	c.sessions.PollJobs(t.Context())
	if outcome := s.Follow(job, "deleteTemplate", nil); outcome.State != cloudstack.JobSucceeded || !woken {
		t.Errorf("the deletion is %+v, woken %t", outcome, woken)
	}
	if _, err := s.FindTemplate(t.Context(), cloudstack.Owner{}, n.ZoneID, made.ID); !cloudstack.Is(err, cloudstack.NotFound) {
		t.Errorf("the deleted template: %v, want NotFound", err)
	}
	if _, err := s.DeleteTemplate(t.Context(), cloudstack.Owner{}, n.ZoneID, made.ID); !cloudstack.Is(err, cloudstack.NotFound) {
		t.Errorf("deleting again: %v, want NotFound", err)
	}
}

func TestOneListingForManyImages(t *testing.T) {
	c := newCloud(t, cloudsim.Options{Preset: cloudsim.PresetRecorded})
	s := c.as(t, "tenant")
	n := newTemplate(t, s, "mine")
	lists := func() int {
		count := 0
		for _, e := range c.Journal() {
			if e.Command == "listTemplates" {
				count++
			}
		}
		return count
	}
	var before []cloudstack.Template
	for range 10 {
		var err error
		if before, err = s.RecentTemplates(t.Context(), cloudstack.Owner{}, n.ZoneID, 5*time.Second); err != nil {
			t.Fatal(err)
		}
	}
	if got := lists(); got != 1 {
		t.Errorf("%d listings for ten questions, want 1", got)
	}
	gone := before[0].ID
	if _, err := s.DeleteTemplate(t.Context(), cloudstack.Owner{}, n.ZoneID, gone); err != nil {
		t.Fatal(err)
	}
	if _, err := s.RecentTemplates(t.Context(), cloudstack.Owner{}, n.ZoneID, time.Hour); err != nil {
		t.Fatal(err)
	}
	c.clock.Step(time.Minute)
	if _, err := s.FindTemplate(t.Context(), cloudstack.Owner{}, n.ZoneID, gone); !cloudstack.Is(err, cloudstack.NotFound) {
		t.Fatalf("the deleted template: %v, want NotFound", err)
	}
	after, err := s.RecentTemplates(t.Context(), cloudstack.Owner{}, n.ZoneID, time.Hour)
	if err != nil || len(after) != len(before)-1 {
		t.Errorf("after the deletion was seen the listing shows %d templates, %v, want one fewer than %d", len(after), err, len(before))
	}
}

func TestUploadRowCannotBeDeleted(t *testing.T) {
	c := newCloud(t, cloudsim.Options{Preset: cloudsim.PresetRecorded})
	s := c.as(t, "tenant")
	n := newTemplate(t, s, "up")
	permit, err := s.PrepareUpload(t.Context(), n)
	if err != nil || permit.Signature == "" || permit.Metadata == "" || permit.Expires == "" {
		t.Fatalf("PrepareUpload() = %v, %v", permit, err)
	}
	found, err := s.FindTemplate(t.Context(), cloudstack.Owner{}, n.ZoneID, permit.TemplateID)
	if err != nil || found.State.Stage != cloudstack.StageAwaitingUpload || found.Details["capcat.owner"] != "me" {
		t.Fatalf("the row is %+v, %v, want it to await its upload under our mark", found, err)
	}
	job, err := s.DeleteTemplate(t.Context(), cloudstack.Owner{}, n.ZoneID, permit.TemplateID)
	if err != nil {
		t.Fatal(err)
	}
	c.clock.Step(time.Minute)
	outcome, err := s.JobOutcome(t.Context(), job, "deleteTemplate")
	if err != nil || outcome.Err == nil || outcome.Err.Kind != cloudstack.Busy {
		t.Errorf("the deletion is %+v, %v, want Busy", outcome, err)
	}
}
