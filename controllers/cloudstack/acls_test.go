package cloudstack_test

import (
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/capcat/capcat/controllers/cloudstack"
)

func TestACLAdmits(t *testing.T) {
	allow := func(cidr string) cloudstack.ACLRule {
		return cloudstack.ACLRule{Ingress: true, Allow: true, Protocol: "tcp", StartPort: 6443, EndPort: 6443, CIDRs: []string{cidr}}
	}
	deny := func(cidr string) cloudstack.ACLRule {
		return cloudstack.ACLRule{Ingress: true, Protocol: "all", CIDRs: []string{cidr}}
	}
	tests := map[string]struct {
		rules []cloudstack.ACLRule
		from  string
		want  bool
	}{
		"nothing is said":               {nil, "0.0.0.0/0", false},
		"everybody":                     {[]cloudstack.ACLRule{allow("0.0.0.0/0")}, "0.0.0.0/0", true},
		"a part only":                   {[]cloudstack.ACLRule{allow("10.0.0.0/8")}, "0.0.0.0/0", false},
		"a wider range":                 {[]cloudstack.ACLRule{allow("10.0.0.0/8")}, "10.1.0.0/16", true},
		"refused before":                {[]cloudstack.ACLRule{deny("0.0.0.0/0"), allow("0.0.0.0/0")}, "10.1.0.0/16", false},
		"a part is refused before":      {[]cloudstack.ACLRule{deny("10.1.2.0/24"), allow("0.0.0.0/0")}, "10.1.0.0/16", false},
		"somebody else is refused":      {[]cloudstack.ACLRule{deny("172.16.0.0/12"), allow("0.0.0.0/0")}, "10.1.0.0/16", true},
		"the rule is for another port":  {[]cloudstack.ACLRule{{Ingress: true, Allow: true, Protocol: "tcp", StartPort: 22, EndPort: 443}}, "10.1.0.0/16", false},
		"the rule is for udp":           {[]cloudstack.ACLRule{{Ingress: true, Allow: true, Protocol: "udp"}}, "10.1.0.0/16", false},
		"the rule is for the other way": {[]cloudstack.ACLRule{{Allow: true, Protocol: "all"}}, "10.1.0.0/16", false},
		"tcp by its number":             {[]cloudstack.ACLRule{{Ingress: true, Allow: true, Protocol: "6"}}, "10.1.0.0/16", true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := cloudstack.ACLAdmits(tc.rules, 6443, netip.MustParsePrefix(tc.from)); got != tc.want {
				t.Errorf("ACLAdmits() = %t, want %t", got, tc.want)
			}
		})
	}
}

func TestACLReleases(t *testing.T) {
	all := cloudstack.ACLRule{Allow: true, Protocol: "all", CIDRs: []string{"0.0.0.0/0", "::/0"}}
	tests := map[string]struct {
		rules []cloudstack.ACLRule
		want  bool
	}{
		"nothing is said":     {nil, false},
		"everything":          {[]cloudstack.ACLRule{all}, true},
		"tcp only":            {[]cloudstack.ACLRule{{Allow: true, Protocol: "tcp"}}, false},
		"a refusal before":    {[]cloudstack.ACLRule{{Protocol: "udp"}, all}, false},
		"a rule of the other": {[]cloudstack.ACLRule{{Ingress: true, Protocol: "all"}, all}, true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := cloudstack.ACLReleases(tc.rules); got != tc.want {
				t.Errorf("ACLReleases() = %t, want %t", got, tc.want)
			}
		})
	}
}

func TestAtLeast(t *testing.T) {
	for version, want := range map[string]bool{
		"4.22.0.0": true, "4.22.0.0-SNAPSHOT": true, "4.23": true, "5.0.0.0": true, "4.21.9.9": false, "4.9.0": false, "": false, "x": false,
	} {
		if got := cloudstack.AtLeast(version, "4.22"); got != want {
			t.Errorf("AtLeast(%q) = %t, want %t", version, got, want)
		}
	}
}

// TestVPCLife: a VPC with a tier behind an ACL list, an address that serves the tier, and the order in which they go.
func TestVPCLife(t *testing.T) {
	s := newSite(t)
	offerings, err := s.VPCOfferings(t.Context())
	if err != nil || len(offerings) == 0 {
		t.Fatalf("offerings %v, %v", offerings, err)
	}
	var offering string
	for _, o := range offerings {
		if o.Name == "Default VPC offering" {
			offering = o.ID
		}
	}
	id, job, err := s.CreateVPC(t.Context(), cloudstack.NewVPC{Name: "cloud", DisplayText: mark + "=me", ZoneID: s.zone, OfferingID: offering, CIDR: "10.80.0.0/16"})
	s.await(t, job, err)
	named, err := s.VPCsNamed(t.Context(), cloudstack.Owner{}, s.zone, "clou")
	if err != nil || len(named) > 0 {
		t.Errorf("by a part of the name: %v, %v", named, err)
	}
	found, err := s.FindVPC(t.Context(), cloudstack.Owner{}, id)
	if err != nil || found.DisplayText != mark+"=me" || !found.Enabled || found.CIDR != "10.80.0.0/16" {
		t.Errorf("FindVPC() = %+v, %v", found, err)
	}
	acl, err := s.FindACL(t.Context(), cloudstack.ACLAllowAll)
	if err != nil {
		t.Fatal(err)
	}
	rules, err := s.ACLRules(t.Context(), cloudstack.Owner{}, acl)
	if err != nil || !cloudstack.ACLReleases(rules) || !cloudstack.ACLAdmits(rules, 6443, netip.MustParsePrefix("0.0.0.0/0")) {
		t.Errorf("ACLRules() = %+v, %v, want that everything passes", rules, err)
	}
	address, job, err := s.AssociateAddress(t.Context(), cloudstack.NewAddress{VPCID: id})
	s.await(t, job, err)
	all, err := s.Addresses(t.Context(), cloudstack.AddressQuery{VPCID: id})
	s.clock.Step(time.Minute)
	if err != nil || len(all) == 0 || all[0].VPCID != id {
		t.Errorf("addresses of the VPC: %+v, %v, want %s among them", all, err, address)
	}
	job, err = s.CreateTags(t.Context(), cloudstack.TagsOfVPC, map[string]string{mark: "me"}, id)
	s.await(t, job, err)
	if found, err = s.FindVPC(t.Context(), cloudstack.Owner{}, id); err != nil || cmp.Diff(map[string]string{mark: "me"}, found.Tags) != "" {
		t.Errorf("tags %v, %v", found.Tags, err)
	}
	job, err = s.DeleteVPC(t.Context(), id)
	s.await(t, job, err)
	if _, err := s.FindVPC(t.Context(), cloudstack.Owner{}, id); !cloudstack.Is(err, cloudstack.NotFound) {
		t.Errorf("the deleted VPC: %v, want NotFound", err)
	}
}
