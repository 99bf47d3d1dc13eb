package cloudsim_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	cs "github.com/apache/cloudstack-go/v2/cloudstack"

	"github.com/capcat/capcat/test/cloudsim"
)

// TestSDK drives the server with the public Go client.
func TestSDK(t *testing.T) {
	src := newSource(t, map[string][]byte{"/a.qcow2": tinyQCOW2()})
	p := demo(t, src)
	k := p.keys["tenant"]
	c := cs.NewClient(p.base, k.APIKey, k.SecretKey, false)
	zones, err := c.Zone.ListZones(c.Zone.NewListZonesParams())
	if err != nil || zones.Count != 3 {
		t.Fatalf("zones: %v %v", zones, err)
	}
	hp := c.Hypervisor.NewListHypervisorsParams()
	hp.SetZoneid(zones.Zones[0].Id)
	if h, err := c.Hypervisor.ListHypervisors(hp); err != nil || h.Count != 1 || h.Hypervisors[0].Name != "KVM" {
		t.Errorf("hypervisors: %v %v", h, err)
	}
	rp := c.Template.NewRegisterTemplateParams("a", "QCOW2", "KVM", "a", "http://images.example.org/a.qcow2")
	rp.SetZoneid(zones.Zones[0].Id)
	rp.SetOstypeid(p.seeded("ostype/Ubuntu 22.04 LTS"))
	rp.SetDetails(map[string]string{"capcat.owner": "me"})
	r, err := c.Template.RegisterTemplate(rp)
	if err != nil || len(r.RegisterTemplate) != 1 {
		t.Fatalf("register: %v %v", r, err)
	}
	tp := c.Resourcetags.NewCreateTagsParams([]string{r.RegisterTemplate[0].Id}, "Template", map[string]string{"owner": "me"})
	if job, err := c.Resourcetags.CreateTags(tp); err != nil || job.JobID == "" {
		t.Errorf("tags: %v %v", job, err)
	}
	up := c.Template.NewGetUploadParamsForTemplateParams("up", "QCOW2", "KVM", "up", zones.Zones[0].Id)
	up.SetOstypeid(p.seeded("ostype/Ubuntu 22.04 LTS"))
	if u, err := c.Template.GetUploadParamsForTemplate(up); err != nil || u.PostURL == "" || u.Signature == "" {
		t.Errorf("upload: %v %v", u, err)
	}
	if _, _, err := c.Zone.GetZoneByID("11111111-2222-3333-4444-555555555555"); err == nil || !strings.Contains(err.Error(), "No match found") {
		t.Errorf("unknown zone: %v", err)
	}
	for name, call := range map[string]func() error{
		"capabilities": func() error {
			_, err := c.Configuration.ListCapabilities(c.Configuration.NewListCapabilitiesParams())
			return err
		},
		"apis": func() error { _, err := c.APIDiscovery.ListApis(c.APIDiscovery.NewListApisParams()); return err },
		"offerings": func() error {
			_, err := c.ServiceOffering.ListServiceOfferings(c.ServiceOffering.NewListServiceOfferingsParams())
			return err
		},
		"networks": func() error { _, err := c.Network.ListNetworks(c.Network.NewListNetworksParams()); return err },
		"machines": func() error {
			_, err := c.VirtualMachine.ListVirtualMachines(c.VirtualMachine.NewListVirtualMachinesParams())
			return err
		},
		"accounts": func() error { _, err := c.Account.ListAccounts(c.Account.NewListAccountsParams()); return err },
		"users":    func() error { _, err := c.User.ListUsers(c.User.NewListUsersParams()); return err },
		"keys":     func() error { _, err := c.SSH.ListSSHKeyPairs(c.SSH.NewListSSHKeyPairsParams()); return err },
		"limits":   func() error { _, err := c.Limit.ListResourceLimits(c.Limit.NewListResourceLimitsParams()); return err },
	} {
		if err := call(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestEveryCommandAnswers calls everything that a root admin may call without parameters: a list that is not simulated is empty, other
// commands answer in the server's envelope and never break the connection.
func TestEveryCommandAnswers(t *testing.T) {
	p := newPlayer(t, "recorded")
	command := "listApis"
	apis := rowsOf(p.send(&step{As: "admin", Method: "GET", Sign: "ok", Command: &command}).body)
	if len(apis) < 700 {
		t.Fatalf("%d APIs", len(apis))
	}
	for _, a := range apis {
		name := fmt.Sprint(a["name"])
		got := p.send(&step{As: "admin", Method: "POST", Sign: "ok", Command: &name})
		envelope, ok := got.body.(map[string]any)
		if !ok || len(envelope) != 1 || got.status < 200 || got.status > 599 {
			t.Errorf("%s: %d %.200v", name, got.status, got.body)
		}
	}
}

func TestSessions(t *testing.T) {
	p := newPlayer(t, "recorded")
	resp, err := http.PostForm(p.base, url.Values{"command": {"login"}, "username": {"teamuser"}, "password": {"password"}, "domain": {"/team"}, "response": {"json"}})
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	cookies := resp.Cookies()
	if resp.StatusCode != 200 || len(cookies) != 2 {
		t.Fatalf("login: %d, cookies %v", resp.StatusCode, cookies)
	}
	key := ""
	for _, c := range cookies {
		if c.Name == "sessionkey" {
			key = c.Value
		}
	}
	get := func(command string, withKey bool, cookies []*http.Cookie) *reply {
		t.Helper()
		q := url.Values{"command": {command}, "response": {"json"}}
		if withKey {
			q.Set("sessionkey", key)
		}
		req, err := http.NewRequest(http.MethodGet, p.base+"?"+q.Encode(), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range cookies {
			req.AddCookie(c)
		}
		return p.roundTrip(req)
	}
	for _, c := range []struct {
		name, command string
		key           bool
		cookies       []*http.Cookie
		status        int
	}{
		{"key as parameter", "listZones", true, cookies, 200},
		{"key as cookie", "listZones", false, cookies, 200},
		{"no cookie", "listZones", true, nil, 401},
		{"not in the role", "listHosts", true, cookies, 432},
		{"logout", "logout", true, cookies, 200},
		{"after logout", "listZones", true, cookies, 401},
	} {
		if got := get(c.command, c.key, c.cookies); got.status != c.status {
			t.Errorf("%s: %d %v", c.name, got.status, got.body)
		}
	}
	if resp, err := http.Get(p.base + "?command=login&username=tenant&password=password&response=json"); err != nil || resp.StatusCode != 405 {
		t.Errorf("login by GET: %v %v", resp.StatusCode, err)
	}
}

func TestVersions(t *testing.T) {
	for _, c := range []struct {
		version, release    string
		arch, managerByName bool
		xz                  int
	}{
		{"4.19", "4.19.3.0", false, false, 431},
		{"4.20", "4.20.1.0", true, false, 431},
		{"4.21", "4.21.0.0", true, true, 431},
		{"4.22", "4.22.0.0-SNAPSHOT", true, true, 200},
	} {
		t.Run(c.version, func(t *testing.T) {
			clock := cloudsim.NewManualClock(start())
			sim, err := cloudsim.New(cloudsim.Options{Preset: "recorded", Version: c.version, Clock: clock})
			if err != nil {
				t.Fatal(err)
			}
			p := playerOn(t, sim, clock)
			if v := dig(p.call("listCapabilities", nil), "capability.cloudstackversion"); v != c.release {
				t.Errorf("version %v", v)
			}
			row := dig(p.call("listTemplates", map[string]string{"templatefilter": "featured"}), "template.0").(map[string]any)
			if _, ok := row["arch"]; ok != c.arch {
				t.Errorf("arch on templates: %v", ok)
			}
			command := "registerTemplate"
			got := p.send(&step{As: "tenant", Method: "POST", Sign: "ok", Command: &command, Params: map[string]string{"name": "x", "url": "http://images.sim.example.org/a.qcow2.xz",
				"format": "QCOW2", "hypervisor": "KVM", "ostypeid": "${env:ostype/Ubuntu 22.04 LTS}", "zoneid": "${env:zone/zone-a}"}})
			if got.status != c.xz {
				t.Errorf("xz: %d %v", got.status, got.body)
			}
			job := p.call("queryAsyncJobResult", map[string]string{"jobid": fmt.Sprint(p.call("deleteTemplate", map[string]string{"id": fmt.Sprint(dig(p.call("registerTemplate",
				map[string]string{"name": "y", "url": "http://images.sim.example.org/a.qcow2", "format": "QCOW2", "hypervisor": "KVM", "ostypeid": p.seeded("ostype/Ubuntu 22.04 LTS"),
					"zoneid": p.seeded("zone/zone-a")}), "template.0.id"))})["jobid"])})
			if _, ok := job["managementservername"]; ok != c.managerByName || job["managementserverid"] == nil {
				t.Errorf("job %v", job)
			}
		})
	}
}

func TestBadOptionsAreRefused(t *testing.T) {
	for name, o := range map[string]cloudsim.Options{
		"preset":  {Preset: "none"},
		"version": {Version: "4.11"},
		"resolve": {Resolve: map[string]string{"a": "nowhere"}},
	} {
		if _, err := cloudsim.New(o); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestTooLargeForms(t *testing.T) {
	p := newPlayer(t, "recorded")
	resp, err := http.Post(p.base, "application/x-www-form-urlencoded", strings.NewReader("command=listZones&x="+strings.Repeat("a", 1<<20)))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != 404 || !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/html") {
		t.Errorf("%d %s", resp.StatusCode, resp.Header.Get("Content-Type"))
	}
}
