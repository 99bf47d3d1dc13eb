package cluster_test

import (
	"strings"
	"testing"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
)

// TestNetworksThatRoute: neither address nor rules are made, and the conditions say which rules a person has to make.
func TestNetworksThatRoute(t *testing.T) {
	const offering = "Routed"
	rows := map[string]func(*world) infrav1.Network{
		"there": func(w *world) infrav1.Network {
			w.network("lan", offering)
			return infrav1.Network{Name: "lan"}
		},
		"made": func(*world) infrav1.Network {
			return infrav1.Network{Name: "lan", Offering: offering, RoutingMode: infrav1.RoutingModeStatic}
		},
		"made, and not said to route": func(*world) infrav1.Network { return infrav1.Network{Name: "lan", Offering: offering} },
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.Call("admin", "createNetworkOffering", "name", offering, "displaytext", offering, "guestiptype", "Isolated", "traffictype", "GUEST",
				"supportedservices", "Dhcp,Dns,UserData,Firewall", "enable", "true")
			n := row(w)
			before := w.made()
			m := w.start(w.Client)
			c := w.cluster("c1", network(n), spec(func(s *infrav1.CloudStackClusterSpec) { s.ControlPlaneEndpoint.Host = "172.16.0.5" }))
			got := m.Drive(c, ready)
			found := condition(got, infrav1.ConditionNetworkReady)
			if found.Status != "True" || found.Reason != infrav1.ReasonFirewallUnmanaged || !strings.Contains(found.Message, "lan") {
				t.Errorf("NetworkReady %+v", found)
			}
			if message := condition(got, infrav1.ConditionReady).Message; !strings.Contains(message, "firewall") {
				t.Errorf("message %q", message)
			}
			if d := got.Status.Domain(zone); !d.Network.Routed || len(d.Network.EgressRuleIDs) > 0 || got.Status.LoadBalancer != nil {
				t.Errorf("network %+v, load balancer %+v", d.Network, got.Status.LoadBalancer)
			}
			m.delete(c)
			w.wantMade(before)
		})
	}
}

// TestRoutingModeNeedsAnOfferingThatRoutes: else the cluster would have neither a way in nor a way out.
func TestRoutingModeNeedsAnOfferingThatRoutes(t *testing.T) {
	w := newWorld(t)
	m := w.start(w.Client)
	c := w.cluster("c1", network(infrav1.Network{Name: "lan", Offering: natOffering, RoutingMode: infrav1.RoutingModeStatic}))
	got := m.Drive(c, because(infrav1.ReasonNetworkOfferingNotFound))
	if message := condition(got, infrav1.ConditionReady).Message; !strings.Contains(message, "translates addresses") {
		t.Errorf("message %q", message)
	}
	m.delete(c)
	w.wantMade(made{})
}
