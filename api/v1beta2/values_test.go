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
