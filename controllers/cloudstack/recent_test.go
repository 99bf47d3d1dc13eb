package cloudstack_test

import (
	"testing"
	"time"

	"github.com/capcat/capcat/controllers/cloudstack"
)

func TestManyMachinesAskTheSame(t *testing.T) {
	s := newSite(t)
	ctx, me, age := t.Context(), cloudstack.Owner{}, time.Minute
	_, job, err := s.CreateAffinityGroup(ctx, me, cloudstack.AffinityGroup{Name: "g", Type: cloudstack.HostAntiAffinity})
	s.await(t, job, err)
	asks := map[string]func() (found bool, err error){
		"RecentNetwork": func() (bool, error) {
			n, err := s.RecentNetwork(ctx, me, s.network, age)
			return n.ID == s.network, err
		},
		"RecentNetworksNamed": func() (bool, error) {
			list, err := s.RecentNetworksNamed(ctx, me, s.zone, "net", age)
			return len(list) == 1 && list[0].ID == s.network, err
		},
		"RecentTemplate": func() (bool, error) {
			tmpl, err := s.RecentTemplate(ctx, me, s.zone, s.vm.TemplateID, age)
			return tmpl.ID == s.vm.TemplateID, err
		},
		"RecentDeployableTemplates": func() (bool, error) {
			list, err := s.RecentDeployableTemplates(ctx, me, s.zone, "image", age)
			return len(list) == 1 && list[0].ID == s.vm.TemplateID, err
		},
		"RecentAffinityGroup": func() (bool, error) {
			g, err := s.RecentAffinityGroup(ctx, me, "g", age)
			return g.Name == "g", err
		},
	}
	for name, ask := range asks {
		before := s.calls("")
		for range 10 {
			if found, err := ask(); err != nil || !found {
				t.Fatalf("%s: found %t, %v", name, found, err)
			}
		}
		s.clock.Step(30 * time.Second)
		if _, err := ask(); err != nil || s.calls("")-before != 1 {
			t.Errorf("%s: %d calls for eleven questions, %v, want 1", name, s.calls("")-before, err)
		}
		s.clock.Step(time.Minute)
		if _, err := ask(); err != nil || s.calls("")-before != 2 {
			t.Errorf("%s: %d calls when the answer is old, %v, want 2", name, s.calls("")-before, err)
		}
	}
}
