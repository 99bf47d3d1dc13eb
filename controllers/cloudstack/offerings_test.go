package cloudstack_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/capcat/capcat/controllers/cloudstack"
)

func TestOfferings(t *testing.T) {
	s := newSite(t)
	offerings, err := s.ServiceOfferings(t.Context(), cloudstack.Owner{}, s.zone)
	if err != nil {
		t.Fatal(err)
	}
	byName := map[string]cloudstack.ServiceOffering{}
	for _, o := range offerings {
		o.ID = ""
		byName[o.Name] = o
	}
	for name, want := range map[string]cloudstack.ServiceOffering{
		"Small Instance": {Name: "Small Instance", CPUs: 1, SpeedMHz: 500, MemoryMiB: 512},
	} {
		if diff := cmp.Diff(want, byName[name]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	custom := 0
	for _, o := range byName {
		if o.Custom {
			custom++
			if o.CPUs != 0 || o.MemoryMiB != 0 {
				t.Errorf("the custom offering says %+v", o)
			}
		}
	}
	if custom == 0 {
		t.Errorf("no custom offering among %+v", byName)
	}
	before := s.calls("listServiceOfferings")
	for range 5 {
		if _, err := s.ServiceOfferings(t.Context(), cloudstack.Owner{}, s.zone); err != nil {
			t.Fatal(err)
		}
	}
	if got := s.calls("listServiceOfferings"); got != before {
		t.Errorf("%d more calls within two minutes", got-before)
	}
	networks, err := s.NetworkOfferings(t.Context(), s.zone)
	if err != nil {
		t.Fatal(err)
	}
	isolated := 0
	for _, o := range networks {
		if o.GuestType == "Isolated" && !o.ForVPC && !o.NeedsVLAN {
			isolated++
		}
	}
	if isolated == 0 {
		t.Errorf("no offering for isolated networks among %+v", networks)
	}
}
