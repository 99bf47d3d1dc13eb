package cloudsim_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A machine's affinity groups are changed in the job alone: what is wrong with the groups is said there, in the order of the server's source.
func TestRefusedChangesOfAffinityGroups(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.job("createAffinityGroup", "name", "apart", "type", "host anti-affinity", "description", "kept")
	group := s.list("id", "listAffinityGroups", "name", "apart")[0]
	id := s.job("deployVirtualMachine", "name", "m", "serviceofferingid", s.seeded("offering/Small Instance"), "zoneid", s.seeded("zone/zone-a"),
		"templateid", s.seeded("template/CentOS 5.6 (64-bit) no GUI (Simulator)"), "networkids", s.network)
	unknown := "431 Unable to find group by name nosuch for account "
	for name, row := range map[string]struct {
		command string
		params  []string
		want    string
	}{
		"neither ids nor names":     {"updateVMAffinityGroup", []string{"id", id}, "431 affinitygroupids parameter or affinitygroupnames parameter must be given"},
		"ids and names":             {"updateVMAffinityGroup", []string{"id", id, "affinitygroupids", group, "affinitygroupnames", "apart"}, "431 affinitygroupids parameter is mutually exclusive with affinitygroupnames parameter"},
		"unknown name":              {"updateVMAffinityGroup", []string{"id", id, "affinitygroupnames", "nosuch"}, unknown},
		"delete of nothing":         {"deleteAffinityGroup", nil, "431 Either the affinity group Id or group name must be specified to delete the group"},
		"delete of an unknown name": {"deleteAffinityGroup", []string{"name", "nosuch"}, "431 Unable to find affinity group nosuch"},
		"delete without domain":     {"deleteAffinityGroup", []string{"name", "apart", "account", "tenant"}, "HTTP 431 AccountName and domainId must be specified together"},
		"create without domain":     {"createAffinityGroup", []string{"name", "x", "type", "host affinity", "account", "tenant"}, "HTTP 431 AccountName and domainId must be specified together"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := s.outcome(row.command, row.params...); !strings.HasPrefix(got, row.want) {
				t.Errorf("%q, want %q", got, row.want)
			}
		})
	}
	if diff := cmp.Diff([]string{"apart"}, s.list("name", "listAffinityGroups")); diff != "" {
		t.Error(diff)
	}
}

// Types that only admins may create are not listed to anybody.
func TestAffinityGroupTypes(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	want := []string{"host anti-affinity", "host affinity", "non-strict host anti-affinity", "non-strict host affinity"}
	if diff := cmp.Diff(want, s.list("type", "listAffinityGroupTypes")); diff != "" {
		t.Error(diff)
	}
}
