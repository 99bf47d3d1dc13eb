package v1beta2_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
)

func TestFailureDomainOwner(t *testing.T) {
	tests := map[string]struct {
		domain infrav1.FailureDomainSpec
		want   infrav1.ResourceOwner
	}{
		"nobody named":          {},
		"a project":             {domain: infrav1.FailureDomainSpec{Project: "p"}, want: infrav1.ResourceOwner{Project: "p"}},
		"a project goes before": {domain: infrav1.FailureDomainSpec{Project: "p", Domain: "d", Account: "a"}, want: infrav1.ResourceOwner{Project: "p"}},
		"an account":            {domain: infrav1.FailureDomainSpec{Domain: "d", Account: "a"}, want: infrav1.ResourceOwner{Domain: "d", Account: "a"}},
		"a domain alone":        {domain: infrav1.FailureDomainSpec{Domain: "d"}},
		"an account alone":      {domain: infrav1.FailureDomainSpec{Account: "a"}, want: infrav1.ResourceOwner{Account: "a"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, tc.domain.Owner()); diff != "" {
				t.Errorf("Owner (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWhatIsMeantByNothing(t *testing.T) {
	for name, tc := range map[string]struct{ got, want bool }{
		"a failure domain takes control planes": {(&infrav1.FailureDomainSpec{}).TakesControlPlane(), true},
		"unless it says no":                     {(&infrav1.FailureDomainSpec{ControlPlane: ptr.To(false)}).TakesControlPlane(), false},
		"a load balancer is wanted":             {(*infrav1.ControlPlaneLoadBalancer)(nil).IsEnabled(), true},
		"also when only its ports are told":     {(&infrav1.ControlPlaneLoadBalancer{}).IsEnabled(), true},
		"unless it is turned off":               {(&infrav1.ControlPlaneLoadBalancer{Enabled: ptr.To(false)}).IsEnabled(), false},
		"an endpoint is none":                   {infrav1.APIEndpoint{}.IsZero(), true},
		"a port alone is something":             {infrav1.APIEndpoint{Port: 1}.IsZero(), false},
		"a Secret is near":                      {infrav1.EndpointReference{Name: "s"}.Foreign("team"), false},
		"also when its namespace is told":       {infrav1.EndpointReference{Name: "s", Namespace: "team"}.Foreign("team"), false},
		"unless it is another":                  {infrav1.EndpointReference{Name: "s", Namespace: "other"}.Foreign("team"), true},
	} {
		if tc.got != tc.want {
			t.Errorf("%s: %v, want %v", name, tc.got, tc.want)
		}
	}
}

func TestStatusLookups(t *testing.T) {
	status := infrav1.CloudStackClusterStatus{Resolved: []infrav1.ResolvedFailureDomain{{Name: "a"}, {Name: "b", ZoneID: "z"}}}
	if d := status.Domain("b"); d == nil || d.ZoneID != "z" || d != &status.Resolved[1] {
		t.Errorf("Domain(b) = %v, want the second one itself", d)
	}
	if d := status.Domain("c"); d != nil {
		t.Errorf("Domain(c) = %v, want none", d)
	}
	lb := &infrav1.LoadBalancerStatus{Rules: []infrav1.LoadBalancerRuleStatus{{Name: "api", ID: "1"}, {Name: "coming"}, {Name: "join", ID: "2"}}}
	if diff := cmp.Diff([]string{"1", "2"}, lb.RuleIDs()); diff != "" {
		t.Errorf("RuleIDs (-want +got):\n%s", diff)
	}
	if ids := (*infrav1.LoadBalancerStatus)(nil).RuleIDs(); ids != nil {
		t.Errorf("Without a load balancer: %v", ids)
	}
	for arch, want := range map[infrav1.Arch]infrav1.NodeArchitecture{infrav1.ArchX8664: "amd64", infrav1.ArchAArch64: "arm64", "mips": ""} {
		if got := arch.Node(); got != want {
			t.Errorf("%s on a node is %q, want %q", arch, got, want)
		}
	}
}

// TestControlPlanesStayBehindTheLoadBalancer: where nothing is said, machines are placed only where it reaches them.
func TestControlPlanesStayBehindTheLoadBalancer(t *testing.T) {
	c := infrav1.CloudStackCluster{Status: infrav1.CloudStackClusterStatus{
		LoadBalancer: &infrav1.LoadBalancerStatus{FailureDomain: "near", NetworkID: "n1"},
		Resolved: []infrav1.ResolvedFailureDomain{
			{Name: "near", Network: &infrav1.ResolvedNetwork{ID: "n1"}}, {Name: "far", Network: &infrav1.ResolvedNetwork{ID: "n2"}}, {Name: "new"},
		},
	}}
	without := *c.DeepCopy()
	without.Spec.ControlPlaneLoadBalancer = &infrav1.ControlPlaneLoadBalancer{Enabled: ptr.To(false)}
	for name, tc := range map[string]struct {
		in     infrav1.CloudStackCluster
		domain infrav1.FailureDomainSpec
		want   bool
	}{
		"where it is":                {c, infrav1.FailureDomainSpec{Name: "near"}, true},
		"where it is, but no":        {c, infrav1.FailureDomainSpec{Name: "near", ControlPlane: ptr.To(false)}, false},
		"where it is not":            {c, infrav1.FailureDomainSpec{Name: "far"}, false},
		"where it is not, but yes":   {c, infrav1.FailureDomainSpec{Name: "far", ControlPlane: ptr.To(true)}, true},
		"whose network is not there": {c, infrav1.FailureDomainSpec{Name: "new"}, true},
		"without a load balancer":    {without, infrav1.FailureDomainSpec{Name: "far"}, true},
		"before there is any of it":  {infrav1.CloudStackCluster{}, infrav1.FailureDomainSpec{Name: "far"}, true},
	} {
		if got := tc.in.TakesControlPlane(&tc.domain); got != tc.want {
			t.Errorf("%s: %t, want %t", name, got, tc.want)
		}
	}
}
