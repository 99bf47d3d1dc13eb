package cloudstack_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/capcat/capcat/controllers/cloudstack"
)

// world answers the lists that a watch of clusters reads. Each cluster has one thing of every kind.
type world struct {
	*stub
	clock    *clocktesting.FakeClock
	sessions *cloudstack.Sessions
	cloud    *cloudstack.Session

	mu sync.Mutex
	// rows are by command and id.
	rows map[string]map[string]map[string]any
	// hidden ids are found only when asked for by id.
	hidden map[string]bool
}

type row = map[string]any

func newWorld(t *testing.T, clusters int) *world {
	t.Helper()
	w := &world{stub: newStub(t), clock: clocktesting.NewFakeClock(time.Now()), rows: map[string]map[string]map[string]any{}, hidden: map[string]bool{}}
	for command, key := range map[string]string{
		"listNetworks": "network", "listPublicIpAddresses": "publicipaddress", "listLoadBalancerRules": "loadbalancerrule",
		"listFirewallRules": "firewallrule", "listEgressFirewallRules": "firewallrule",
	} {
		w.rows[command] = map[string]map[string]any{}
		w.on(command, w.lists(command, key))
	}
	w.rows["members"] = map[string]map[string]any{}
	w.on("listLoadBalancerRuleInstances", w.members)
	for n := range clusters {
		w.rows["listNetworks"][id("net", n)] = row{"id": id("net", n), "state": "Implemented", "type": "Isolated"}
		w.rows["listPublicIpAddresses"][id("ip", n)] = row{"id": id("ip", n), "state": "Allocated"}
		w.rows["listLoadBalancerRules"][id("lb", n)] = row{"id": id("lb", n), "publicport": "6443"}
		w.rows["listFirewallRules"][id("fw", n)] = row{"id": id("fw", n), "ipaddressid": id("ip", n), "protocol": "tcp"}
		w.rows["listEgressFirewallRules"][id("out", n)] = row{"id": id("out", n), "networkid": id("net", n), "protocol": "all"}
		w.rows["members"][id("lb", n)] = row{id("vm", n): true}
	}
	sessions, err := cloudstack.NewSessions(cloudstack.Options{Clock: w.clock, CallsPerSecond: -1})
	if err != nil {
		t.Fatal(err)
	}
	w.sessions = sessions
	if w.cloud, err = sessions.For(t.Context(), config(w.URL)); err != nil {
		t.Fatal(err)
	}
	return w
}

func id(kind string, n int) string { return fmt.Sprintf("%s-%d", kind, n) }

func (w *world) lists(command, key string) http.HandlerFunc {
	return func(out http.ResponseWriter, r *http.Request) {
		w.mu.Lock()
		defer w.mu.Unlock()
		wanted := r.Form.Get("id")
		rows := []any{}
		for _, name := range slices.Sorted(maps.Keys(w.rows[command])) {
			if name == wanted || (wanted == "" && !w.hidden[name]) {
				rows = append(rows, w.rows[command][name])
			}
		}
		answer(out, command, key, rows)
	}
}

func (w *world) members(out http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	members, known := w.rows["members"][r.Form.Get("id")]
	if !known {
		refuses("listloadbalancerruleinstancesresponse", 431, 9999, "Invalid parameter id value=x due to incorrect long value format, or entity does not exist")(out, r)
		return
	}
	rows := []any{}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		rows = append(rows, row{"id": name})
	}
	answer(out, "listLoadBalancerRuleInstances", "loadbalancerruleinstance", rows)
}

func answer(out http.ResponseWriter, command, key string, rows []any) {
	body := map[string]any{}
	if len(rows) > 0 {
		body = map[string]any{"count": len(rows), key: rows}
	}
	text, err := json.Marshal(map[string]any{strings.ToLower(command) + "response": body})
	if err != nil {
		http.Error(out, err.Error(), http.StatusInternalServerError)
		return
	}
	says(200, string(text))(out, nil)
}

// drop removes a row.
func (w *world) drop(command, id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.rows[command], id)
}

// leave takes all members out of a rule.
func (w *world) leave(rule string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rows["members"][rule] = row{}
}

// change sets a field of a row.
func (w *world) change(command, id, field string, value any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	changed := maps.Clone(w.rows[command][id])
	changed[field] = value
	w.rows[command][id] = changed
}

func (w *world) total() int {
	w.stub.mu.Lock()
	defer w.stub.mu.Unlock()
	return len(w.seen)
}

func (w *world) minutes(t *testing.T, n int) {
	t.Helper()
	for range n * 20 {
		w.clock.Step(3 * time.Second)
		w.sessions.PollNetworks(t.Context())
	}
}

func parts(n int) cloudstack.NetworkParts {
	return cloudstack.NetworkParts{
		Networks: []string{id("net", n)}, EgressOf: []string{id("net", n)}, Addresses: []string{id("ip", n)},
		FirewallOf: []string{id("ip", n)}, LoadBalancers: []string{id("lb", n)},
	}
}

func TestWatchingClustersCostsFewCalls(t *testing.T) {
	for _, clusters := range []int{1, 2, 20} {
		w := newWorld(t, clusters)
		woken := wakes{}
		for n := range clusters {
			w.cloud.WatchNetwork(id("cluster", n), parts(n), woken.of(id("cluster", n)))
		}
		w.minutes(t, 10)
		calls := w.total()
		w.minutes(t, 60)
		calls = w.total() - calls
		// The machines take 1.2 of the six calls that the first cluster may cost.
		if limit := 60 * (4.8 + 4*float64(clusters-1)); float64(calls) > limit {
			t.Errorf("%d calls an hour for %d clusters, want at most %.0f", calls, clusters, limit)
		}
		for n := range clusters {
			if got := woken[id("cluster", n)]; got != 6 {
				t.Errorf("of %d clusters one woke %d times, want once for each kind", clusters, got)
			}
		}
		t.Logf("%d clusters: %.1f calls a minute", clusters, float64(calls)/60)
	}
}

func TestChangesOnTheNetworkWakeTheirCluster(t *testing.T) {
	tests := map[string]struct {
		change  func(w *world)
		minutes int
	}{
		"lost member":             {func(w *world) { w.leave("lb-0") }, 1},
		"foreign member":          {func(w *world) { w.change("members", "lb-0", "vm-9", true) }, 1},
		"lost rule":               {func(w *world) { w.drop("members", "lb-0"); w.drop("listLoadBalancerRules", "lb-0") }, 1},
		"lost address":            {func(w *world) { w.drop("members", "lb-0"); w.drop("listPublicIpAddresses", "ip-0") }, 1},
		"lost firewall rule":      {func(w *world) { w.drop("listFirewallRules", "fw-0") }, 1},
		"changed firewall rule":   {func(w *world) { w.change("listFirewallRules", "fw-0", "cidrlist", "0.0.0.0/0") }, 1},
		"lost egress rule":        {func(w *world) { w.drop("listEgressFirewallRules", "out-0") }, 5},
		"changed network":         {func(w *world) { w.change("listNetworks", "net-0", "name", "other") }, 5},
		"lost network":            {func(w *world) { w.drop("listNetworks", "net-0") }, 5},
		"address of another":      {func(w *world) { w.change("listPublicIpAddresses", "ip-0", "account", "other") }, 5},
		"changed load balancer":   {func(w *world) { w.change("listLoadBalancerRules", "lb-0", "algorithm", "source") }, 5},
		"network hidden in lists": {func(w *world) { w.hidden["net-0"] = true }, 0},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 2)
			woken := wakes{}
			for n := range 2 {
				w.cloud.WatchNetwork(id("cluster", n), parts(n), woken.of(id("cluster", n)))
			}
			w.minutes(t, 10)
			before := maps.Clone(woken)
			tc.change(w)
			w.minutes(t, max(tc.minutes, 1))
			if got := woken["cluster-0"] > before["cluster-0"]; got != (tc.minutes > 0) {
				t.Errorf("woken within %d minutes: %t", tc.minutes, got)
			}
			w.minutes(t, 10)
			if woken["cluster-1"] != before["cluster-1"] {
				t.Errorf("the other cluster was woken %d times", woken["cluster-1"]-before["cluster-1"])
			}
		})
	}
}

func TestWhatIsSeenOfACluster(t *testing.T) {
	w := newWorld(t, 1)
	if sight := w.cloud.WatchNetwork("c", parts(0), nil); !sight.QuickAt.IsZero() || !sight.SlowAt.IsZero() {
		t.Errorf("before the first look: %+v", sight)
	}
	w.minutes(t, 5)
	w.drop("listFirewallRules", "fw-0")
	w.drop("listNetworks", "net-0")
	w.minutes(t, 5)
	sight := w.cloud.WatchNetwork("c", parts(0), nil)
	if age := w.clock.Now().Sub(sight.QuickAt); age > time.Minute {
		t.Errorf("members and firewall rules were seen %s ago", age)
	}
	if age := w.clock.Now().Sub(sight.SlowAt); age > 5*time.Minute {
		t.Errorf("the rest was seen %s ago", age)
	}
	if diff := cmp.Diff(map[string][]string{"lb-0": {"vm-0"}}, sight.Members); diff != "" {
		t.Errorf("members (-want +got):\n%s", diff)
	}
	if rules, looked := sight.Firewall["ip-0"]; !looked || len(rules) > 0 {
		t.Errorf("firewall rules %+v, looked %t, want none", rules, looked)
	}
	if _, found := sight.Networks["net-0"]; found || sight.Addresses["ip-0"].ID == "" || len(sight.Egress["net-0"]) != 1 {
		t.Errorf("seen is %+v", sight)
	}

	calls := w.total()
	w.cloud.UnwatchNetwork("c")
	w.minutes(t, 10)
	if w.total() != calls {
		t.Error("what nobody watches is still looked at")
	}
}

// TestFailedLooksAreToldOnce: what was seen stays, and who watches is woken once, when nothing could be seen for two minutes.
func TestFailedLooksAreToldOnce(t *testing.T) {
	w := newWorld(t, 1)
	woken := wakes{}
	w.cloud.WatchNetwork("c", parts(0), woken.of("c"))
	w.minutes(t, 5)
	before, calls := woken["c"], w.total()
	good := w.answers
	w.stub.mu.Lock()
	w.answers = map[string]http.HandlerFunc{}
	w.stub.mu.Unlock()
	w.minutes(t, 1)
	if woken["c"] != before {
		t.Errorf("woken %d times by a minute of failures", woken["c"]-before)
	}
	w.minutes(t, 4)
	if got := woken["c"] - before; got != 1 {
		t.Errorf("woken %d times by failures, want once", got)
	}
	if sight := w.cloud.WatchNetwork("c", parts(0), nil); sight.Unseen == nil || len(sight.Networks) != 1 {
		t.Errorf("seen is %+v", sight)
	}
	before = woken["c"]
	if got := w.total() - calls; got > 5*6*6 {
		t.Errorf("%d calls in five minutes of failures", got)
	}
	w.stub.mu.Lock()
	w.answers = good
	w.stub.mu.Unlock()
	w.drop("listFirewallRules", "fw-0")
	w.minutes(t, 1)
	if woken["c"] == before {
		t.Error("not woken after the failures")
	}
}

func TestRefusedCredentialsAreTold(t *testing.T) {
	w := newWorld(t, 1)
	woken := wakes{}
	w.cloud.WatchNetwork("c", parts(0), woken.of("c"))
	w.minutes(t, 5)
	before, good := woken["c"], w.answers
	refuse := func(rw http.ResponseWriter, _ *http.Request) {
		rw.WriteHeader(http.StatusUnauthorized)
		_, _ = rw.Write([]byte(`{"errorresponse":{"errorcode":401,"errortext":"unable to verify user credentials and/or request signature"}}`))
	}
	w.stub.mu.Lock()
	w.answers = map[string]http.HandlerFunc{}
	for command := range good {
		w.answers[command] = refuse
	}
	w.stub.mu.Unlock()
	w.minutes(t, 5)
	if got := woken["c"] - before; got != 1 {
		t.Errorf("woken %d times by the refusals, want once", got)
	}
	if sight := w.cloud.WatchNetwork("c", parts(0), nil); !cloudstack.Is(sight.Unseen, cloudstack.Unauthorized) {
		t.Errorf("the refusal is %v", sight.Unseen)
	}
	w.stub.mu.Lock()
	w.answers = good
	w.stub.mu.Unlock()
	w.minutes(t, 2)
	if sight := w.cloud.WatchNetwork("c", parts(0), nil); sight.Unseen != nil || woken["c"] < before+2 {
		t.Errorf("after the refusals it is %v, woken %d times", sight.Unseen, woken["c"]-before)
	}
}

func TestNewWatchersDelayNobody(t *testing.T) {
	w := newWorld(t, 30)
	woken := wakes{}
	w.cloud.WatchNetwork("old", parts(0), woken.of("old"))
	w.minutes(t, 10)
	before := woken["old"]
	w.leave("lb-0")
	for n := range 20 {
		// A cluster that comes at every look must not put off the look.
		w.cloud.WatchNetwork(id("new", n), parts(n+1), nil)
		w.clock.Step(3 * time.Second)
		w.cloud.WatchNetwork("shuffled", cloudstack.NetworkParts{LoadBalancers: []string{"lb-1", "lb-2", "lb-1"}}, nil)
		w.sessions.PollNetworks(t.Context())
		w.cloud.WatchNetwork("shuffled", cloudstack.NetworkParts{LoadBalancers: []string{"lb-2", "lb-1"}}, nil)
	}
	if woken["old"] == before {
		t.Error("the lost member was not seen within a minute")
	}
	if sight := w.cloud.WatchNetwork("shuffled", cloudstack.NetworkParts{LoadBalancers: []string{"lb-1", "lb-2"}}, nil); len(sight.Members) != 2 {
		t.Errorf("the same parts in another order are seen as %+v", sight)
	}
}
