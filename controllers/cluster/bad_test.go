package cluster_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/controllers/cloudstack"
)

func placed(d infrav1.FailureDomainSpec) change {
	return spec(func(s *infrav1.CloudStackClusterSpec) {
		d.Name = "fd"
		s.Zone, s.FailureDomains = nil, []infrav1.FailureDomainSpec{d}
	})
}

func inZone(name, id string, n infrav1.Network) infrav1.FailureDomainZone {
	return infrav1.FailureDomainZone{Name: name, ID: id, Network: n}
}

// networkOf makes a network of somebody.
func (w *world) networkOf(who, name string) string {
	w.T.Helper()
	other := *w
	other.cloud = w.Session(who)
	return other.network(name, natOffering)
}

// badRow is a cluster that cannot become what it asks for: the reason, and what the message says of it.
type badRow struct {
	change func(*world) change
	reason string
	says   string
}

func plainly(c change) func(*world) change { return func(*world) change { return c } }

func badRows() map[string]badRow {
	n := infrav1.Network{Name: "n"}
	here := inZone(zone, "", n)
	return map[string]badRow{
		"an account of others":        {plainly(placed(infrav1.FailureDomainSpec{Account: "other", Domain: "ROOT", Zone: here})), infrav1.ReasonOwnerNotFound, `"other"`},
		"an account of others, alone": {plainly(placed(infrav1.FailureDomainSpec{Account: "other", Zone: here})), infrav1.ReasonOwnerNotFound, `"other"`},
		"an account of another domain": {
			plainly(placed(infrav1.FailureDomainSpec{Account: caller, Domain: "ROOT/nosuch", Zone: here})), infrav1.ReasonOwnerNotFound, "ROOT/nosuch",
		},
		"no such project": {plainly(placed(infrav1.FailureDomainSpec{Project: "nosuch", Zone: here})), infrav1.ReasonOwnerNotFound, `"nosuch"`},
		"a hypervisor that the zone lacks": {
			plainly(placed(infrav1.FailureDomainSpec{Hypervisor: infrav1.HypervisorKVM, Zone: here})), infrav1.ReasonHypervisorNotInZone, "the zone has: Simulator",
		},
		"a zone in other case": {plainly(placed(infrav1.FailureDomainSpec{Zone: inZone("Zone-A", "", n)})), infrav1.ReasonZoneNotFound, "seen are: zone-a"},
		"a name as id of the zone": {
			plainly(placed(infrav1.FailureDomainSpec{Zone: inZone("", zone, n)})), infrav1.ReasonZoneNotFound, "no zone with the id zone-a is seen",
		},
		"an id and another name": {
			func(w *world) change {
				return placed(infrav1.FailureDomainSpec{Zone: inZone("zone-b", w.zoneID, n)})
			}, infrav1.ReasonInvalidSpec, "named zone-a and not zone-b",
		},
		"a disabled zone": {
			func(w *world) change {
				w.Call("admin", "updateZone", "id", w.zoneID, "allocationstate", "Disabled")
				return placed(infrav1.FailureDomainSpec{Zone: here})
			}, infrav1.ReasonZoneNotFound, "disabled",
		},
		"a disabled zone, by id": {
			func(w *world) change {
				w.Call("admin", "updateZone", "id", w.zoneID, "allocationstate", "Disabled")
				return placed(infrav1.FailureDomainSpec{Zone: inZone("", w.zoneID, n)})
			}, infrav1.ReasonZoneDisabled, "takes no new work",
		},
		"a zone of security groups": {
			plainly(placed(infrav1.FailureDomainSpec{Zone: inZone("zone-sg", "", n)})), infrav1.ReasonInvalidSpec, "security group",
		},
		"a network of others": {
			func(w *world) change { return network(infrav1.Network{ID: w.networkOf("other", "theirs")}) }, infrav1.ReasonNetworkNotFound, "is seen",
		},
		"a network of another zone": {
			func(w *world) change {
				return placed(infrav1.FailureDomainSpec{Zone: inZone("zone-b", "", infrav1.Network{ID: w.network("here", natOffering)})})
			}, infrav1.ReasonNetworkUnsuitable, "not in the zone zone-b",
		},
		"a name as id of the network": {plainly(network(infrav1.Network{ID: "net"})), infrav1.ReasonNetworkNotFound, "nothing with the id net is seen"},
		"an isolated network, asked as a shared one": {
			func(w *world) change {
				w.network("here", natOffering)
				return network(infrav1.Network{Name: "here", Type: infrav1.NetworkTypeShared})
			}, infrav1.ReasonNetworkUnsuitable, "Isolated and not Shared",
		},
		"an offering of shared networks": {
			plainly(network(infrav1.Network{Name: "n", Offering: "DefaultSharedNetworkOffering"})), infrav1.ReasonNetworkOfferingNotFound, "there are:",
		},
		"public addresses inside": {
			plainly(network(infrav1.Network{Name: "n", Gateway: "8.8.8.1", Netmask: "255.255.255.0"})), infrav1.ReasonInvalidSpec, "RFC 1918",
		},
		"an address of another network": {
			func(w *world) change {
				id, job, err := w.cloud.AssociateAddress(w.T.Context(), cloudstack.NewAddress{NetworkID: w.network("mine", natOffering)})
				w.await(job, err)
				a, err := w.cloud.FindAddress(w.T.Context(), ownerless, id)
				w.Must(err)
				return spec(func(s *infrav1.CloudStackClusterSpec) { s.ControlPlaneEndpointIP = a.IP })
			}, infrav1.ReasonAddressUnavailable, "ask for another one",
		},
		"an endpoint of IPv6": {
			plainly(spec(func(s *infrav1.CloudStackClusterSpec) { s.ControlPlaneEndpoint.Host = "fd00::1" })), infrav1.ReasonAddressUnavailable, "fd00::1",
		},
	}
}

// TestBadClustersAreToldAndGo: a condition says what is wrong, and the deletion of such a cluster leaves nothing and waits for
// nobody.
func TestBadClustersAreToldAndGo(t *testing.T) {
	for name, row := range badRows() {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			asked := row.change(w)
			before := w.made()
			m := w.start(w.Client)
			c := w.cluster("c1", asked)
			if message := condition(m.Drive(c, because(row.reason)), infrav1.ConditionReady).Message; !strings.Contains(message, row.says) {
				t.Errorf("message %q lacks %q", message, row.says)
			}
			m.delete(c)
			w.wantMade(before)
		})
	}
}

// TestNamesThatLookAlike: what merely resembles the name is not taken.
func TestNamesThatLookAlike(t *testing.T) {
	for there, asked := range map[string]string{"a1b": "a_b", "100": "1%", "Net": "net", "net-2": "net", "größe": "grösse"} {
		t.Run(asked, func(t *testing.T) {
			w := newWorld(t)
			w.network(there, natOffering)
			before := w.made()
			m := w.start(w.Client)
			c := w.cluster("c1", network(infrav1.Network{Name: asked}))
			if d := m.Drive(c, ready).Status.Domain(zone); !d.Network.Created || d.Network.Name != asked {
				t.Errorf("network %+v, want one of its own", d.Network)
			}
			m.delete(c)
			w.wantMade(before)
		})
	}
}

// TestAccountWithoutDomain: manifests of Cluster API Provider CloudStack may name the account alone.
func TestAccountWithoutDomain(t *testing.T) {
	w := newWorld(t)
	m := w.start(w.Client)
	c := w.cluster("c1", placed(infrav1.FailureDomainSpec{Account: caller, Zone: inZone(zone, "", infrav1.Network{Name: "n"})}))
	if o := m.Drive(c, ready).Status.Domain("fd").Owner; o.Account != caller || o.DomainID == "" {
		t.Errorf("owner %+v", o)
	}
	m.delete(c)
	w.wantMade(made{})
}

// badSecretRow spoils the credentials of a cluster.
type badSecretRow struct {
	spoil  func(w *world, data map[string][]byte)
	reason string
	says   string
}

func set(key, value string) func(*world, map[string][]byte) {
	return func(_ *world, data map[string][]byte) { data[key] = []byte(value) }
}

func badSecretRows() map[string]badSecretRow {
	return map[string]badSecretRow{
		"no keys":           {func(_ *world, data map[string][]byte) { clear(data) }, infrav1.ReasonSecretInvalid, "lacks api-url, api-key, secret-key"},
		"no scheme":         {set("api-url", "cloud.example.org/client/api"), infrav1.ReasonSecretInvalid, "http or https"},
		"another scheme":    {set("api-url", "ftp://cloud.example.org/client/api"), infrav1.ReasonSecretInvalid, "http or https"},
		"a user in the URL": {set("api-url", "http://me:pw@cloud.example.org/client/api"), infrav1.ReasonSecretInvalid, "no user"},
		"another path":      {func(w *world, data map[string][]byte) { data["api-url"] = []byte(w.API.URL + "/client") }, infrav1.ReasonAPIUnreachable, "is api-url right"},
		"https where http is": {func(w *world, data map[string][]byte) {
			data["api-url"] = []byte("https" + w.API.URL[len("http"):] + "/client/api")
		}, infrav1.ReasonAPIUnreachable, "begin with http://"},
		"nobody listens":        {set("api-url", "http://127.0.0.1:1/client/api"), infrav1.ReasonAPIUnreachable, "refused"},
		"another secret key":    {set("secret-key", "another"), infrav1.ReasonCredentialsRefused, "unable to verify"},
		"neither true or false": {set("verify-ssl", "perhaps"), infrav1.ReasonSecretInvalid, "verify-ssl"},
		"a CA that is none":     {set("ca-cert", "garbage"), infrav1.ReasonSecretInvalid, "no PEM certificate"},
	}
}

// TestBadSecretsAreToldAndMended: a cluster of bad credentials for which nothing was made goes; one that has something waits
// for good ones, says so, and leaves nothing behind.
func TestBadSecretsAreToldAndMended(t *testing.T) {
	for name, row := range badSecretRows() {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			m := w.start(w.Client)
			change := func(f func(*world, map[string][]byte)) {
				secret := &corev1.Secret{}
				w.Must(w.Client.Get(t.Context(), client.ObjectKey{Namespace: w.NS, Name: "cloudstack"}, secret))
				f(w, secret.Data)
				w.Must(w.Client.Update(t.Context(), secret))
			}
			told := func(c *infrav1.CloudStackCluster) {
				t.Helper()
				if message := condition(m.Drive(c, because(row.reason)), infrav1.ConditionReady).Message; !strings.Contains(message, row.says) {
					t.Errorf("message %q lacks %q", message, row.says)
				}
			}
			change(row.spoil)
			first := w.cluster("c1")
			told(first)
			m.delete(first)
			w.Secret(w.NS, caller)
			change(func(_ *world, data map[string][]byte) { delete(data, "ca-cert") })
			second := w.cluster("c2")
			m.Drive(second, ready)
			change(row.spoil)
			w.Must(w.Client.Delete(t.Context(), w.get(second)))
			w.Clock.Step(time.Minute)
			told(second)
			w.wantMade(whole)
			w.Secret(w.NS, caller)
			change(func(_ *world, data map[string][]byte) { delete(data, "ca-cert") })
			m.Drive(second, gone)
			w.wantMade(made{})
		})
	}
}
