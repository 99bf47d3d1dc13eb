package workload_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/capcat/capcat/test/cloudsim"
	"github.com/capcat/capcat/test/images"
	"github.com/capcat/capcat/test/workload"
)

// site is a simulated cloud on the wall clock, with guests, a template and a network with an address.
type site struct {
	t       *testing.T
	sim     *cloudsim.Server
	api     string
	keys    cloudsim.KeyPair
	zone    string
	network string
	address string // id of the public address of the API
	ip      string
	shared  string

	offering, osType string
}

const tick = 20 * time.Millisecond

func newSite(t *testing.T, o workload.Options) *site {
	t.Helper()
	if o.Boot == 0 {
		o.Boot = tick
	}
	if o.Patience == 0 {
		o.Patience = 20 * time.Second
	}
	o.Beat, o.Grace = 5*tick, 100*tick
	world, err := workload.New(o)
	if err != nil {
		t.Fatal(err)
	}
	source := httptest.NewServer(http.HandlerFunc(serveImage))
	sim, err := cloudsim.New(cloudsim.Options{Preset: cloudsim.PresetLoopback, Guests: world, Resolve: map[string]string{"images.example.org": source.Listener.Addr().String()},
		JobTime: func(string) time.Duration { return tick }})
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(sim)
	t.Cleanup(func() {
		web.Close()
		source.Close()
		for _, err := range []error{sim.Close(), world.Close()} {
			if err != nil {
				t.Error(err)
			}
		}
	})
	s := &site{t: t, sim: sim, api: web.URL + "/client/api", keys: sim.Keys()["tenant"]}
	s.zone = s.first("listZones", "zone", "name", "zone-kvm")
	s.offering, s.osType = s.first("listServiceOfferings", "serviceoffering"), s.first("listOsTypes", "ostype")
	s.network = s.call("createNetwork", "name", "net", "zoneid", s.zone, "networkofferingid", s.first("listNetworkOfferings", "networkoffering", "name", "DefaultIsolatedNetworkOfferingWithSourceNatService"))["network"].(map[string]any)["id"].(string)
	s.shared = s.first("listNetworks", "network", "type", "Shared", "zoneid", s.zone)
	s.job("associateIpAddress", "networkid", s.network) // the first one is for source NAT
	s.address = s.job("associateIpAddress", "networkid", s.network)
	s.ip = s.field("listPublicIpAddresses", "publicipaddress", "ipaddress", "id", s.address)
	return s
}

// serveImage serves a small disk for any name.
func serveImage(w http.ResponseWriter, r *http.Request) {
	var image bytes.Buffer
	if err := images.QCOW2(&image, 1<<30, strings.NewReader("a disk without a version")); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(image.Bytes()))
}

// call sends a signed call and returns what is in its envelope.
func (s *site) call(command string, pairs ...string) map[string]any {
	s.t.Helper()
	params := map[string]string{"command": command, "response": "json", "apiKey": s.keys.APIKey}
	for i := 0; i+1 < len(pairs); i += 2 {
		params[pairs[i]] = pairs[i+1]
	}
	params["signature"] = cloudsim.Sign(params, s.keys.SecretKey)
	form := url.Values{}
	for k, v := range params {
		form.Set(k, v)
	}
	resp, err := http.PostForm(s.api, form)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	var doc map[string]map[string]any
	if err := json.Unmarshal(data, &doc); err != nil || resp.StatusCode != http.StatusOK {
		s.t.Fatalf("%s: %d %s: %v", command, resp.StatusCode, data, err)
	}
	for _, inner := range doc {
		return inner
	}
	return nil
}

// eventually waits for a condition on the wall clock.
func (s *site) eventually(what string, ok func() bool) {
	s.t.Helper()
	limit := time.NewTimer(90 * time.Second)
	defer limit.Stop()
	poll := time.NewTicker(tick)
	defer poll.Stop()
	for !ok() {
		select {
		case <-limit.C:
			s.t.Fatalf("%s: not in time\n%s", what, s.consoles())
		case <-poll.C:
		}
	}
}

// consoles are those of all machines.
func (s *site) consoles() string {
	var b strings.Builder
	for _, r := range s.sim.GuestRows() {
		text, _ := s.sim.Console(r.ID)
		fmt.Fprintf(&b, "--- %s (%s)\n%s", r.Name, r.State, text)
	}
	return b.String()
}

func (s *site) console(machine string) string {
	s.t.Helper()
	text, err := s.sim.Console(machine)
	if err != nil {
		s.t.Fatal(err)
	}
	return text
}

// says waits until a machine has printed a text.
func (s *site) says(machine, text string) {
	s.t.Helper()
	s.eventually(machine+" says "+text, func() bool { return strings.Contains(s.console(machine), text) })
}

func (s *site) job(command string, pairs ...string) string {
	s.t.Helper()
	body := s.call(command, pairs...)
	s.eventually(command, func() bool {
		j := s.call("queryAsyncJobResult", "jobid", fmt.Sprint(body["jobid"]))
		if j["jobstatus"] == 2.0 {
			s.t.Fatalf("%s: %v", command, j)
		}
		return j["jobstatus"] == 1.0
	})
	return fmt.Sprint(body["id"])
}

func (s *site) field(command, list, field string, pairs ...string) string {
	s.t.Helper()
	body := s.call(command, pairs...)
	rows, _ := body[list].([]any)
	if len(rows) == 0 {
		s.t.Fatalf("%s: no %s in %v", command, list, body)
	}
	return fmt.Sprint(rows[0].(map[string]any)[field])
}

func (s *site) first(command, list string, pairs ...string) string {
	s.t.Helper()
	return s.field(command, list, "id", pairs...)
}

// template registers an image of a name and waits until it is there.
func (s *site) template(name string) string {
	s.t.Helper()
	id := s.first("registerTemplate", "template", "name", name, "displaytext", name, "format", "QCOW2", "hypervisor", "KVM", "zoneid", s.zone, "ostypeid", s.osType,
		"url", "http://images.example.org/"+name+".qcow2")
	s.eventually("template "+name, func() bool {
		return s.field("listTemplates", "template", "isready", "templatefilter", "self", "id", id) == "true"
	})
	return id
}

// deploy starts a machine with user data.
func (s *site) deploy(name, template, userData string, more ...string) string {
	s.t.Helper()
	network := s.network
	for i := 0; i+1 < len(more); i += 2 {
		if more[i] == "networkids" {
			network = more[i+1]
		}
	}
	params := []string{"name", name, "zoneid", s.zone, "templateid", template, "networkids", network, "serviceofferingid", s.offering}
	if userData != "" {
		params = append(params, "userdata", base64.StdEncoding.EncodeToString([]byte(userData)))
	}
	return s.job("deployVirtualMachine", params...)
}

func (s *site) allowEgress() {
	s.t.Helper()
	s.job("createEgressFirewallRule", "networkid", s.network, "protocol", "all")
}

// balance makes the load balancer of the API with its firewall rule and returns the id of the former.
func (s *site) balance() string {
	s.t.Helper()
	s.job("createFirewallRule", "ipaddressid", s.address, "protocol", "tcp", "startport", "6443", "endport", "6443")
	return s.job("createLoadBalancerRule", "algorithm", "roundrobin", "name", "api", "protocol", "tcp", "publicport", "6443", "privateport", "6443", "publicipid", s.address, "openfirewall", "false")
}

// state is the state of a machine as its owner sees it.
func (s *site) state(id string) string {
	s.t.Helper()
	return s.field("listVirtualMachines", "virtualmachine", "state", "id", id)
}

func (s *site) guestAddress(id string) netip.Addr {
	s.t.Helper()
	for _, r := range s.sim.GuestRows() {
		if r.ID == id {
			return netip.MustParseAddr(r.Addresses[0])
		}
	}
	s.t.Fatalf("no machine %s", id)
	return netip.Addr{}
}
