package cloudstack_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/capcat/capcat/controllers/cloudstack"
	"github.com/capcat/capcat/test/cloudsim"
)

func asError(err error, target **cloudstack.Error) bool { return errors.As(err, target) }

func TestSessionsAreKeyedByCredential(t *testing.T) {
	sessions := newSessions(t, cloudstack.Options{})
	open := func(uid, revision string) *cloudstack.Session {
		t.Helper()
		c := config("http://h.example.org/client/api")
		c.UID, c.Revision = uid, revision
		s, err := sessions.For(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	first := open("a", "1")
	if open("a", "1") != first {
		t.Error("the same credential gives another session")
	}
	if open("b", "1") == first {
		t.Error("another credential gives the same session")
	}
	if open("a", "2") == first {
		t.Error("a rotated credential gives the old session")
	}
}

func TestConfigValidation(t *testing.T) {
	tests := map[string]func(*cloudstack.Config){
		"no URL":          func(c *cloudstack.Config) { c.URL = "" },
		"no scheme":       func(c *cloudstack.Config) { c.URL = "cloud.example.org/client/api" },
		"another scheme":  func(c *cloudstack.Config) { c.URL = "ftp://cloud.example.org" },
		"a query":         func(c *cloudstack.Config) { c.URL += "?command=listZones" },
		"a user":          func(c *cloudstack.Config) { c.URL = "http://u:p@cloud.example.org/client/api" },
		"no API key":      func(c *cloudstack.Config) { c.APIKey = "" },
		"no secret key":   func(c *cloudstack.Config) { c.SecretKey = "" },
		"a line feed":     func(c *cloudstack.Config) { c.SecretKey += "\n" },
		"no certificate":  func(c *cloudstack.Config) { c.CABundle = []byte("nothing") },
		"no UID":          func(c *cloudstack.Config) { c.UID = "" },
		"no revision":     func(c *cloudstack.Config) { c.Revision = "" },
		"keys with blank": func(c *cloudstack.Config) { c.APIKey = "a b" },
	}
	for name, spoil := range tests {
		t.Run(name, func(t *testing.T) {
			c := config("http://cloud.example.org/client/api")
			spoil(&c)
			_, err := newSessions(t, cloudstack.Options{}).For(t.Context(), c)
			if err == nil {
				t.Fatal("no error")
			}
			if strings.Contains(err.Error(), "the-secret-key") {
				t.Errorf("the error tells the key: %v", err)
			}
		})
	}
}

// TestSignatures has the simulator check what the transport signs: characters that Go and Java escape differently.
func TestSignatures(t *testing.T) {
	c := newCloud(t, cloudsim.Options{})
	s := c.as(t, "user")
	for _, name := range []string{"plain", "a b", "a*b", "a~b", "a+b", "ä€", "a&b=c", `"'<>`, "[x]"} {
		if _, err := s.FindOwner(t.Context(), cloudstack.OwnerName{Project: name}); !cloudstack.Is(err, cloudstack.NotFound) {
			t.Errorf("asking for the project %q: %v, want NotFound", name, err)
		}
	}
}

func TestEnforcedTimestamps(t *testing.T) {
	c := newCloud(t, cloudsim.Options{})
	c.Set("enforce.post.requests.and.timestamps", "true")
	if _, err := c.as(t, "user").Zones(t.Context()); err != nil {
		t.Errorf("with enforced timestamps: %v", err)
	}
}

func TestContextEndsACall(t *testing.T) {
	arrived := make(chan struct{})
	s := newStub(t)
	s.on("listZones", func(_ http.ResponseWriter, r *http.Request) {
		close(arrived)
		<-r.Context().Done()
	})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-arrived
		cancel()
	}()
	_, err := session(t, s).Zones(ctx)
	if !errors.Is(err, context.Canceled) || !cloudstack.Is(err, cloudstack.Unavailable) {
		t.Errorf("error %v, want Unavailable because of context.Canceled", err)
	}
}

func TestTimeoutEndsACall(t *testing.T) {
	s := newStub(t)
	s.on("deleteTemplate", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	cloud, err := newSessions(t, cloudstack.Options{Timeout: 2 * time.Second}).For(t.Context(), config(s.URL))
	if err != nil {
		t.Fatal(err)
	}
	_, err = cloud.DeleteTemplate(t.Context(), cloudstack.Owner{}, "z", "t")
	if !errors.Is(err, context.DeadlineExceeded) || !cloudstack.Is(err, cloudstack.LostReply) {
		t.Errorf("error %v, want LostReply because of context.DeadlineExceeded", err)
	}
}

func TestConnectionsAreReused(t *testing.T) {
	var connections sync.Map
	s := newStub(t)
	answer := says(200, `{"listhypervisorsresponse":{"count":1,"hypervisor":[{"name":"KVM"}]}}`)
	s.on("listHypervisors", func(w http.ResponseWriter, r *http.Request) {
		connections.Store(r.RemoteAddr, true)
		answer(w, r)
	})
	cloud := session(t, s)
	for n := range 20 {
		if _, err := cloud.HypervisorsIn(t.Context(), strconv.Itoa(n)); err != nil {
			t.Fatal(err)
		}
	}
	got := 0
	connections.Range(func(any, any) bool { got++; return true })
	if got != 1 {
		t.Errorf("%d connections for 20 calls, want 1", got)
	}
}

func TestThrottledSessionIsSilent(t *testing.T) {
	s := newStub(t)
	s.on("listZones", refuses("listzonesresponse", 429, 9999, "please retry after [2000] ms."))
	clock := clocktesting.NewFakeClock(time.Now())
	cloud, err := newSessions(t, cloudstack.Options{Clock: clock}).For(t.Context(), config(s.URL))
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, err := cloud.Zones(t.Context()); !cloudstack.Is(err, cloudstack.Throttled) {
			t.Fatalf("error %v, want Throttled", err)
		}
	}
	if n := len(s.calls("listZones")); n != 1 {
		t.Errorf("%d calls within the pause, want 1", n)
	}
	s.on("listZones", says(200, `{"listzonesresponse":{"count":1,"zone":[{"id":"z","name":"a","allocationstate":"Enabled"}]}}`))
	clock.Step(2 * time.Second)
	if _, err := cloud.Zones(t.Context()); err != nil {
		t.Errorf("after the pause: %v", err)
	}
}

func TestRateIsBounded(t *testing.T) {
	s := newStub(t)
	s.on("listHypervisors", says(200, `{"listhypervisorsresponse":{}}`))
	clock := clocktesting.NewFakeClock(time.Now())
	cloud, err := newSessions(t, cloudstack.Options{Clock: clock, CallsPerSecond: 1, Burst: 2}).For(t.Context(), config(s.URL))
	if err != nil {
		t.Fatal(err)
	}
	ask := func(zone string) error { _, err := cloud.HypervisorsIn(t.Context(), zone); return err }
	for _, zone := range []string{"a", "b"} {
		if err := ask(zone); err != nil {
			t.Fatal(err)
		}
	}
	done := make(chan error)
	go func() { done <- ask("c") }()
	for !clock.HasWaiters() {
		select {
		case err := <-done:
			t.Fatalf("the third call did not wait: %v", err)
		default:
		}
	}
	clock.Step(time.Second)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestServerThatLimitsCallsSeesNoMoreBursts: once it turned a call away, no more come at once than in one of its seconds.
func TestServerThatLimitsCallsSeesNoMoreBursts(t *testing.T) {
	s := newStub(t)
	clock := clocktesting.NewFakeClock(time.Now())
	cloud, err := newSessions(t, cloudstack.Options{Clock: clock, CallsPerSecond: 2, Burst: 100}).For(t.Context(), config(s.URL))
	if err != nil {
		t.Fatal(err)
	}
	s.on("listHypervisors", refuses("listhypervisorsresponse", 429, 9999, "please retry after [1000] ms."))
	if _, err := cloud.HypervisorsIn(t.Context(), "a"); !cloudstack.Is(err, cloudstack.Throttled) {
		t.Fatalf("error %v, want Throttled", err)
	}
	s.on("listHypervisors", says(200, `{"listhypervisorsresponse":{}}`))
	clock.Step(time.Hour)
	ctx, cancel := context.WithCancel(t.Context())
	for _, zone := range []string{"b", "c"} {
		if _, err := cloud.HypervisorsIn(ctx, zone); err != nil {
			t.Fatal(err)
		}
	}
	done := make(chan error)
	go func() { _, err := cloud.HypervisorsIn(ctx, "d"); done <- err }()
	for !clock.HasWaiters() {
		select {
		case err := <-done:
			t.Fatalf("the third call did not wait: %v", err)
		default:
		}
	}
	cancel()
	if err := <-done; !cloudstack.Is(err, cloudstack.Unavailable) {
		t.Errorf("error %v, want Unavailable", err)
	}
}

func TestMetrics(t *testing.T) {
	registry := prometheus.NewRegistry()
	s := newStub(t)
	s.on("listHypervisors", says(200, `{"listhypervisorsresponse":{}}`))
	s.on("listZones", refuses("listzonesresponse", 401, 0, "no"))
	cloud, err := newSessions(t, cloudstack.Options{Registerer: registry}).For(t.Context(), config(s.URL))
	if err != nil {
		t.Fatal(err)
	}
	_, _ = cloud.HypervisorsIn(t.Context(), "z")
	_, _ = cloud.Zones(t.Context())
	_, _ = cloud.Zones(t.Context())
	want := `
# HELP capcat_cloudstack_api_calls_total Calls to the CloudStack API by command and result: ok or the kind of failure.
# TYPE capcat_cloudstack_api_calls_total counter
capcat_cloudstack_api_calls_total{command="listHypervisors",result="ok"} 1
capcat_cloudstack_api_calls_total{command="listZones",result="Unauthorized"} 2
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), "capcat_cloudstack_api_calls_total"); err != nil {
		t.Error(err)
	}
	if _, err := cloudstack.NewSessions(cloudstack.Options{Registerer: registry}); err == nil {
		t.Error("metrics were registered twice without an error")
	}
}

func TestListsAreReadToTheEnd(t *testing.T) {
	const total = 1203
	row := func(n int) string {
		return fmt.Sprintf(`{"id":"id-%d","name":"zone %d","allocationstate":"Enabled"}`, n, n)
	}
	tests := map[string]struct {
		// first gives the first row of a page; reading counts full readings from 0.
		page    func(reading, number, size int) (first, last, count int)
		want    int
		maxSize int
		kind    cloudstack.Kind
	}{
		"three pages": {
			page: func(_, number, size int) (int, int, int) { return (number - 1) * size, min(number*size, total), total }, want: total,
		},
		"a smaller page than asked for": {
			page: func(_, number, size int) (int, int, int) { return (number - 1) * size, min(number*size, total), total }, want: total, maxSize: 100,
		},
		"a count of the page alone": {
			page: func(_, number, size int) (int, int, int) {
				first, last := (number-1)*size, min(number*size, total)
				return first, last, last - first
			}, want: total,
		},
		"a row slipped to the page before": {
			page: func(reading, number, size int) (int, int, int) {
				shift := 0
				if reading == 0 && number > 1 {
					shift = 1
				}
				return (number-1)*size + shift, min(number*size+shift, total), total
			}, want: total,
		},
		"a count that is never reached": {
			page: func(_, number, size int) (int, int, int) {
				return min((number-1)*size, total), min(number*size, total), total + 7
			}, want: total,
		},
		"a list that never stands still": {
			page: func(reading, number, size int) (int, int, int) {
				first := (number-1)*size + reading*10000
				return first, first + min(size, max(0, total-(number-1)*size)), total + 7
			}, kind: cloudstack.Unavailable,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s := newStub(t)
			reading := -1
			s.on("listZones", func(w http.ResponseWriter, r *http.Request) {
				number, _ := strconv.Atoi(r.Form.Get("page"))
				size, _ := strconv.Atoi(r.Form.Get("pagesize"))
				if tc.maxSize > 0 && size > tc.maxSize {
					text := fmt.Sprintf("Page size can't exceed max allowed page size value: %d", tc.maxSize)
					refuses("listzonesresponse", 431, 4350, text)(w, r)
					return
				}
				if number == 1 {
					reading++
				}
				first, last, count := tc.page(reading, number, size)
				var rows []string
				for n := first; n < last; n++ {
					rows = append(rows, row(n))
				}
				if len(rows) == 0 {
					says(200, fmt.Sprintf(`{"listzonesresponse":{"count":%d}}`, count))(w, r)
					return
				}
				says(200, fmt.Sprintf(`{"listzonesresponse":{"count":%d,"zone":[%s]}}`, count, strings.Join(rows, ",")))(w, r)
			})
			zones, err := session(t, s).Zones(t.Context())
			if cloudstack.KindOf(err) != tc.kind || len(zones) != tc.want {
				t.Errorf("%d zones and %v, want %d and kind %q", len(zones), err, tc.want, tc.kind)
			}
		})
	}
}

func TestQuestionsAreShared(t *testing.T) {
	s := newStub(t)
	s.on("listZones", says(200, `{"listzonesresponse":{"count":1,"zone":[{"id":"z","name":"a","allocationstate":"Enabled"}]}}`))
	clock := clocktesting.NewFakeClock(time.Now())
	cloud, err := newSessions(t, cloudstack.Options{Clock: clock}).For(t.Context(), config(s.URL))
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if _, err := cloud.FindZone(t.Context(), "", "a"); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := len(s.calls("listZones")); n != 1 {
		t.Errorf("%d calls for 20 questions at once, want 1", n)
	}
	clock.Step(time.Minute)
	_, _ = cloud.FindZone(t.Context(), "", "a")
	if n := len(s.calls("listZones")); n != 2 {
		t.Errorf("%d calls after a minute, want 2", n)
	}
}

func TestEmptyIDsAreNeverSent(t *testing.T) {
	s := newStub(t)
	cloud := session(t, s)
	ctx := t.Context()
	calls := map[string]func() error{
		"FindZone":        func() error { _, err := cloud.FindZone(ctx, "", ""); return err },
		"HypervisorsIn":   func() error { _, err := cloud.HypervisorsIn(ctx, ""); return err },
		"FindOSType":      func() error { _, err := cloud.FindOSType(ctx, ""); return err },
		"Templates":       func() error { _, err := cloud.Templates(ctx, cloudstack.TemplateQuery{}); return err },
		"FindTemplate":    func() error { _, err := cloud.FindTemplate(ctx, cloudstack.Owner{}, "z", ""); return err },
		"DeleteTemplate":  func() error { _, err := cloud.DeleteTemplate(ctx, cloudstack.Owner{}, "z", ""); return err },
		"TagTemplate":     func() error { _, err := cloud.TagTemplate(ctx, "", map[string]string{"a": "b"}); return err },
		"VMsOfTemplate":   func() error { _, err := cloud.VMsOfTemplate(ctx, cloudstack.Owner{}, "z", ""); return err },
		"FindOwner":       func() error { _, err := cloud.FindOwner(ctx, cloudstack.OwnerName{Domain: "d"}); return err },
		"UpdateDetails":   func() error { return cloud.UpdateDetails(ctx, cloudstack.Owner{}, "z", "", nil) },
		"RecentTemplates": func() error { _, err := cloud.RecentTemplates(ctx, cloudstack.Owner{}, "", 0); return err },
	}
	for name, call := range calls {
		if err := call(); !cloudstack.Is(err, cloudstack.Invalid) {
			t.Errorf("%s without an id gives %v, want Invalid", name, err)
		}
	}
	if diff := cmp.Diff(0, len(s.seen)); diff != "" {
		t.Errorf("calls that were sent (-want +got):\n%s", diff)
	}
}

// TestForgottenCredentialsAreNotPolled: after its Secret is gone, nothing is asked with a session any more.
func TestForgottenCredentialsAreNotPolled(t *testing.T) {
	server := newStub(t)
	server.on("queryAsyncJobResult", says(200, `{"queryasyncjobresultresponse":{"jobid":"j","jobstatus":0}}`))
	sessions := newSessions(t, cloudstack.Options{})
	for _, uid := range []string{"gone/", "there/"} {
		c := config(server.URL + "/client/api")
		c.UID = uid
		s, err := sessions.For(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		s.Follow("j", "deployVirtualMachine", nil)
	}
	sessions.Forget("gone/")
	sessions.PollJobs(t.Context())
	if n := len(server.calls("queryAsyncJobResult")); n != 1 {
		t.Errorf("%d calls, want that of the session that is left", n)
	}
}
