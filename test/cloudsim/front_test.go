package cloudsim

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/capcat/capcat/test/images"
)

// echoGuests answer every connection with the name of the machine, the port and what they were told of it.
type echoGuests struct {
	mu     sync.Mutex
	on     map[string]Guest
	told   []string
	serves map[string][]netip.AddrPort // by host name
}

func newEchoGuests() *echoGuests {
	return &echoGuests{on: map[string]Guest{}, serves: map[string][]netip.AddrPort{}}
}

func (g *echoGuests) Start(x Guest) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.on[x.ID] = x
	g.told = append(g.told, "start "+x.HostName)
}

func (g *echoGuests) Stop(id string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.told = append(g.told, "stop "+g.on[id].HostName)
	delete(g.on, id)
}

func (g *echoGuests) Discard(_ string, expunged bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.told = append(g.told, fmt.Sprintf("discard expunged=%t", expunged))
}

func (g *echoGuests) Dial(_ context.Context, id string, port int) (net.Conn, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	x, ok := g.on[id]
	if !ok {
		return nil, errors.New("no power")
	}
	near, far := net.Pipe()
	go func() {
		fmt.Fprintf(far, "%s:%d", x.HostName, port)
		far.Close()
	}()
	return near, nil
}

func (g *echoGuests) Serves(id string) []netip.AddrPort {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.serves[g.on[id].HostName]
}

func (g *echoGuests) Console(string) (string, bool) { return "", false }

func (g *echoGuests) named(name string) Guest {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, x := range g.on {
		if x.HostName == name {
			return x
		}
	}
	return Guest{}
}

// yard is a server of the loopback preset with a template, a network and an address.
type yard struct {
	*client
	sim                     *Server
	guests                  *echoGuests
	zone, template, network string
	address, ip             string // id and text
}

func newYard(t *testing.T) *yard {
	t.Helper()
	var image bytes.Buffer
	if err := images.QCOW2(&image, 1<<30, strings.NewReader("This disk has kubelet of kubernetes v1.34.2 on it.")); err != nil {
		t.Fatal(err)
	}
	source := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(image.Bytes()))
	}))
	t.Cleanup(source.Close)
	y := &yard{guests: newEchoGuests()}
	s, web := newServer(t, Options{Preset: PresetLoopback, Clock: NewManualClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)), Guests: y.guests,
		Resolve: map[string]string{"images.example.org": source.Listener.Addr().String()}})
	y.sim, y.client = s, as(t, s, web, "tenant")
	y.zone = y.first("listZones", "zone", "name", "zone-kvm")
	y.template = y.first("registerTemplate", "template", "name", "node", "displaytext", "node", "format", "QCOW2", "hypervisor", "KVM", "zoneid", y.zone,
		"ostypeid", y.first("listOsTypes", "ostype"), "url", "http://images.example.org/node-v1.35.0.qcow2")
	y.advance(time.Minute)
	y.network = y.make("createNetwork", "network", "name", "net", "zoneid", y.zone, "networkofferingid",
		y.first("listNetworkOfferings", "networkoffering", "name", "DefaultIsolatedNetworkOfferingWithSourceNatService"))
	y.job("associateIpAddress", "networkid", y.network) // the first one is for source NAT
	y.address = y.job("associateIpAddress", "networkid", y.network)
	_, list := y.get("listPublicIpAddresses", "id", y.address)
	y.ip = dig(y.t, list, "publicipaddress", "ipaddress")
	return y
}

func (y *yard) advance(d time.Duration) {
	y.t.Helper()
	if err := y.sim.Advance(d); err != nil {
		y.t.Fatal(err)
	}
}

// dig reads a field of the first row of a list.
func dig(t *testing.T, body map[string]any, list, field string) string {
	t.Helper()
	rows, _ := body[list].([]any)
	if len(rows) == 0 {
		t.Fatalf("no %s in %v", list, body)
	}
	row, _ := rows[0].(map[string]any)
	return fmt.Sprint(row[field])
}

// first returns the id of the first row of a list.
func (y *yard) first(command, list string, params ...string) string {
	y.t.Helper()
	_, body := y.get(command, params...)
	return dig(y.t, body, list, "id")
}

// make returns the id of what a call makes at once.
func (y *yard) make(command, what string, params ...string) string {
	y.t.Helper()
	_, body := y.get(command, params...)
	row, ok := body[what].(map[string]any)
	if !ok {
		y.t.Fatalf("%s: %v", command, body)
	}
	return fmt.Sprint(row["id"])
}

// job sends a call, lets its job end and returns the id of what it made.
func (y *yard) job(command string, params ...string) string {
	y.t.Helper()
	_, body := y.get(command, params...)
	if body["jobid"] == nil {
		y.t.Fatalf("%s: %v", command, body)
	}
	y.advance(10 * time.Second)
	if _, j := y.get("queryAsyncJobResult", "jobid", fmt.Sprint(body["jobid"])); j["jobstatus"] != 1.0 {
		y.t.Fatalf("%s: %v", command, j)
	}
	return fmt.Sprint(body["id"])
}

func (y *yard) deploy(name, network string, more ...string) string {
	y.t.Helper()
	return y.job("deployVirtualMachine", append([]string{"name", name, "zoneid", y.zone, "templateid", y.template, "networkids", network,
		"serviceofferingid", y.first("listServiceOfferings", "serviceoffering")}, more...)...)
}

func (y *yard) balance(port, private string) string {
	y.t.Helper()
	return y.job("createLoadBalancerRule", "algorithm", "roundrobin", "name", "api", "protocol", "tcp", "publicport", port, "privateport", private, "publicipid", y.address, "openfirewall", "false")
}

func (y *yard) open(port string, more ...string) string {
	y.t.Helper()
	return y.job("createFirewallRule", append([]string{"ipaddressid", y.address, "protocol", "tcp", "startport", port, "endport", port}, more...)...)
}

// hear connects to an address and returns what is said there, or how the connection failed.
func hear(address string) string {
	c, err := net.DialTimeout("tcp", address, 2*time.Second)
	if err != nil {
		return "refused"
	}
	defer c.Close()
	b, err := io.ReadAll(c)
	if err != nil {
		return "reset"
	}
	return string(b)
}

func (y *yard) hears(what, address, want string) {
	y.t.Helper()
	if got := hear(address); got != want {
		y.t.Errorf("%s: %s says %q, want %q", what, address, got, want)
	}
}

// TestLoadBalancerListens takes away in turn everything that a connection needs, and gives it back.
func TestLoadBalancerListens(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	at := y.ip + ":6443"
	vm := y.deploy("one", y.network)
	y.hears("nothing", at, "refused")
	lb := y.balance("6443", "7443")
	rule := y.open("6443")
	y.hears("no member", at, "refused")
	y.job("assignToLoadBalancerRule", "id", lb, "virtualmachineids", vm)
	y.hears("all", at, "one:7443")
	y.job("deleteFirewallRule", "id", rule)
	y.hears("no firewall rule", at, "refused")
	rule = y.open("6443", "cidrlist", "10.0.0.0/8")
	y.hears("another CIDR", at, "reset")
	y.job("deleteFirewallRule", "id", rule)
	y.open("6443", "cidrlist", "127.0.0.0/8")
	y.hears("a CIDR that has the client", at, "one:7443")
	y.job("stopVirtualMachine", "id", vm)
	y.hears("a member that is stopped", at, "refused")
	y.job("startVirtualMachine", "id", vm)
	y.hears("started again", at, "one:7443")
	two := y.deploy("two", y.network)
	y.job("assignToLoadBalancerRule", "id", lb, "virtualmachineids", two)
	heard := map[string]bool{hear(at): true, hear(at): true}
	if diff := cmp.Diff(map[string]bool{"one:7443": true, "two:7443": true}, heard); diff != "" {
		t.Errorf("two members: %s", diff)
	}
	y.job("removeFromLoadBalancerRule", "id", lb, "virtualmachineids", vm)
	y.hears("one member left", at, "two:7443")
	y.job("destroyVirtualMachine", "id", two)
	y.hears("the last member destroyed", at, "refused")
	y.job("assignToLoadBalancerRule", "id", lb, "virtualmachineids", vm)
	y.hears("a member again", at, "one:7443")
	y.job("deleteLoadBalancerRule", "id", lb)
	y.hears("no rule", at, "refused")
}

func TestForwardingAndStaticNAT(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	vm := y.deploy("one", y.network)
	y.guests.serves["one"] = []netip.AddrPort{netip.AddrPortFrom(netip.Addr{}, 6443)}
	rule := y.job("createPortForwardingRule", "ipaddressid", y.address, "protocol", "tcp", "publicport", "2222", "privateport", "22", "virtualmachineid", vm, "openfirewall", "true")
	y.hears("forwarding", y.ip+":2222", "one:22")
	y.job("deletePortForwardingRule", "id", rule)
	y.hears("no forwarding", y.ip+":2222", "refused")
	if status, body := y.get("enableStaticNat", "ipaddressid", y.address, "virtualmachineid", vm); status != http.StatusOK {
		t.Fatal(body)
	}
	y.hears("NAT without firewall", y.ip+":6443", "refused")
	y.open("6443")
	y.hears("NAT", y.ip+":6443", "one:6443")
}

func TestSharedNetworkIsReachedDirectly(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	shared := y.first("listNetworks", "network", "type", "Shared", "zoneid", y.zone)
	for _, name := range []string{"one", "two"} {
		y.deploy(name, shared)
	}
	one, two := y.guests.named("one").NICs[0], y.guests.named("two").NICs[0]
	virtual := netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, one.Address.As4()[1], one.Address.As4()[2], 240}), 6443)
	y.guests.serves["one"] = []netip.AddrPort{netip.AddrPortFrom(netip.Addr{}, 6443), virtual, netip.AddrPortFrom(two.Address, 6443)}
	y.advance(time.Second)
	y.hears("own address", one.Address.String()+":6443", "one:6443")
	y.hears("claimed address", virtual.String(), "one:6443")
	y.hears("an address of another", two.Address.String()+":6443", "refused")
	y.job("destroyVirtualMachine", "id", y.guests.named("one").ID)
	y.hears("nobody claims it", virtual.String(), "refused")
}

// TestGuestsAreTold follows the life of a machine.
func TestGuestsAreTold(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	vm := y.deploy("one", y.network, "userdata", base64.StdEncoding.EncodeToString([]byte("#cloud-config\n")))
	g := y.guests.named("one")
	if string(g.UserData) != "#cloud-config\n" || g.Template.Name != "node" || g.Zone != "zone-kvm" || !g.NICs[0].Address.IsValid() {
		t.Errorf("the guest sees %+v", g)
	}
	for _, command := range []string{"rebootVirtualMachine", "stopVirtualMachine", "startVirtualMachine", "destroyVirtualMachine"} {
		y.job(command, "id", vm)
	}
	y.advance(time.Minute)
	want := []string{"start one", "start one", "stop one", "start one", "stop one", "discard expunged=false", "discard expunged=true"}
	if diff := cmp.Diff(want, y.guests.told); diff != "" {
		t.Error(diff)
	}
}

// TestVersionOfATemplate: bytes before names, and the operator before all.
func TestVersionOfATemplate(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	version := func() string {
		t.Helper()
		for _, r := range y.sim.GuestRows() {
			return r.Kubernetes
		}
		return "no machine"
	}
	y.deploy("one", y.network)
	if got := version(); got != "v1.34.2" {
		t.Errorf("the image says %q", got)
	}
	if err := y.sim.SetKubernetes("node", "v1.33.0"); err != nil || version() != "v1.33.0" {
		t.Errorf("the operator says %q: %v", version(), err)
	}
	if y.sim.SetKubernetes("other", "v1.33.0") == nil || y.sim.SetKubernetes("node", "newest") == nil {
		t.Error("a template or a version that is none is accepted")
	}
}

func TestVersionsInNames(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"ubuntu-2404-kube-v1.34.2.qcow2.bz2": "v1.34.2", "rockylinux-9.5-k8s-1.33.11": "v1.33.11", "node-v1.36.0": "v1.36.0", "containerd-1.7.20-kubernetes-1.31.0.ova": "v1.31.0",
		"ubuntu-24.04.1-server-cloudimg": "", "containerd-1.7.20": "", "v11.30.2": "", "node-1.35.4": "v1.35.4", "capi-v1.14.2-kube-v1.36.3-arm64": "v1.36.3", "": "",
	} {
		if got := versionIn([]byte(name)); got != want {
			t.Errorf("%q holds %q, want %q", name, got, want)
		}
	}
}

// TestUplink: what leaves an isolated network needs an egress rule, neighbours do not.
func TestUplink(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	world, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer world.Close()
	y.deploy("one", y.network)
	y.deploy("two", y.network)
	one, two := y.guests.named("one"), y.guests.named("two")
	try := func(address string) string {
		c, err := one.Uplink.Dial(t.Context(), address)
		var timeout net.Error
		switch {
		case errors.As(err, &timeout) && timeout.Timeout():
			return "timeout"
		case err != nil:
			return err.Error()
		}
		defer c.Close()
		return "connected"
	}
	steps := []struct{ what, address, want string }{
		{"a neighbour", two.NICs[0].Address.String() + ":22", "connected"},
		{"the world", world.Addr().String(), "timeout"},
	}
	for _, s := range steps {
		if got := try(s.address); got != s.want {
			t.Errorf("%s: %s, want %s", s.what, got, s.want)
		}
	}
	y.job("createEgressFirewallRule", "networkid", y.network, "protocol", "tcp", "startport", "1", "endport", "65535")
	if got := try(world.Addr().String()); got != "connected" {
		t.Errorf("with an egress rule: %s", got)
	}
	y.job("stopVirtualMachine", "id", one.ID)
	if got := try(world.Addr().String()); !strings.HasSuffix(got, "no power") {
		t.Errorf("without power: %s", got)
	}
}
