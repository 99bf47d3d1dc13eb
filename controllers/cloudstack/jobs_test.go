package cloudstack_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/capcat/capcat/controllers/cloudstack"
	clocktesting "k8s.io/utils/clock/testing"
)

// jobServer answers for jobs as the test says.
func jobServer(t *testing.T, open []string, results map[string]string) *stub {
	t.Helper()
	s := newStub(t)
	s.on("listAsyncJobs", func(w http.ResponseWriter, r *http.Request) {
		var rows []string
		for _, id := range open {
			rows = append(rows, fmt.Sprintf(`{"jobid":%q,"jobstatus":0}`, id))
		}
		if len(rows) == 0 {
			says(200, `{"listasyncjobsresponse":{}}`)(w, r)
			return
		}
		says(200, fmt.Sprintf(`{"listasyncjobsresponse":{"count":%d,"asyncjobs":[%s]}}`, len(rows), strings.Join(rows, ",")))(w, r)
	})
	s.on("queryAsyncJobResult", func(w http.ResponseWriter, r *http.Request) {
		body, known := results[r.Form.Get("jobid")]
		if !known {
			refuses("queryasyncjobresultresponse", 431, 9999, "Invalid parameter jobid value=x due to incorrect long value format, or entity does not exist")(w, r)
			return
		}
		says(200, `{"queryasyncjobresultresponse":`+body+`}`)(w, r)
	})
	return s
}

func TestJobsAreFollowedTogether(t *testing.T) {
	s := jobServer(t, []string{"runs"}, map[string]string{
		"succeeds": `{"jobid":"succeeds","jobstatus":1,"jobresult":{"success":true}}`,
		"in use":   `{"jobid":"in use","jobstatus":2,"jobresultcode":431,"jobresult":{"errorcode":431,"errortext":"Unable to delete template: Template {..} because VM instances: [a] are using it."}}`,
		"restart":  `{"jobid":"restart","jobstatus":2,"jobresultcode":530}`,
		"late":     `{"jobid":"late","jobstatus":0}`,
		"runs":     `{"jobid":"runs","jobstatus":0}`,
	})
	sessions := newSessions(t, cloudstack.Options{})
	cloud, err := sessions.For(t.Context(), config(s.URL))
	if err != nil {
		t.Fatal(err)
	}
	woken := map[string]int{}
	jobs := []string{"runs", "succeeds", "in use", "restart", "purged", "late"}
	for _, id := range jobs {
		for range 2 {
			got := cloud.Follow(cloudstack.Job(id), "deleteTemplate", func() { woken[id]++ })
			if got.State != cloudstack.JobRunning {
				t.Errorf("%s is %s before the first look, want Running", id, got.State)
			}
		}
	}
	sessions.PollJobs(t.Context())
	sessions.PollJobs(t.Context())

	want := map[string]struct {
		state cloudstack.JobState
		kind  cloudstack.Kind
	}{
		"runs": {state: cloudstack.JobRunning}, "late": {state: cloudstack.JobRunning},
		"succeeds": {state: cloudstack.JobSucceeded}, "purged": {state: cloudstack.JobGone},
		"in use": {cloudstack.JobFailed, cloudstack.InUse}, "restart": {cloudstack.JobFailed, cloudstack.Internal},
	}
	for _, id := range jobs {
		got := cloud.Follow(cloudstack.Job(id), "deleteTemplate", nil)
		kind := cloudstack.Kind("")
		if got.Err != nil {
			kind = got.Err.Kind
		}
		if got.State != want[id].state || kind != want[id].kind {
			t.Errorf("%s is %s with %q, want %s with %q", id, got.State, kind, want[id].state, want[id].kind)
		}
		wakes := 1
		if want[id].state == cloudstack.JobRunning {
			wakes = 0
		}
		if woken[id] != wakes {
			t.Errorf("%s woke %d times, want %d", id, woken[id], wakes)
		}
	}
	if n := len(s.calls("listAsyncJobs")); n != 1 {
		t.Errorf("%d lists for two looks, want 1: for the first", n)
	}
	if n := len(s.calls("queryAsyncJobResult")); n != 7 {
		t.Errorf("%d queries, want 7: at the first look one for each that is no longer listed, at the second for the two that are left", n)
	}
}

func TestJobsSurviveARotatedCredential(t *testing.T) {
	s := jobServer(t, nil, map[string]string{"a": `{"jobid":"a","jobstatus":1}`})
	sessions := newSessions(t, cloudstack.Options{})
	first := config(s.URL)
	old, err := sessions.For(t.Context(), first)
	if err != nil {
		t.Fatal(err)
	}
	woken := false
	old.Follow("a", "deleteTemplate", func() { woken = true })
	second := first
	second.Revision = "2"
	if _, err := sessions.For(t.Context(), second); err != nil {
		t.Fatal(err)
	}
	sessions.PollJobs(t.Context())
	if !woken {
		t.Error("the job of the old session wakes nobody")
	}
}

func TestJobsWithoutTheRightToListThem(t *testing.T) {
	s := jobServer(t, nil, map[string]string{"a": `{"jobid":"a","jobstatus":1}`})
	s.on("listAsyncJobs", refuses("errorresponse", 432, 9999, "not available"))
	sessions := newSessions(t, cloudstack.Options{})
	cloud, err := sessions.For(t.Context(), config(s.URL))
	if err != nil {
		t.Fatal(err)
	}
	cloud.Follow("a", "deleteTemplate", nil)
	sessions.PollJobs(t.Context())
	if got := cloud.Follow("a", "deleteTemplate", nil); got.State != cloudstack.JobSucceeded {
		t.Errorf("the job is %s, want Succeeded", got.State)
	}
}

// TestFewJobsNeedNoList: asking for each is no more calls, and tells more.
func TestFewJobsNeedNoList(t *testing.T) {
	s := jobServer(t, []string{"runs"}, map[string]string{
		"a": `{"jobid":"a","jobstatus":1}`, "b": `{"jobid":"b","jobstatus":1}`, "runs": `{"jobid":"runs","jobstatus":0}`,
	})
	sessions := newSessions(t, cloudstack.Options{})
	cloud, err := sessions.For(t.Context(), config(s.URL))
	if err != nil {
		t.Fatal(err)
	}
	var woken []string
	for _, id := range []string{"a", "b", "runs"} {
		cloud.Follow(cloudstack.Job(id), "removeFromLoadBalancerRule", func() { woken = append(woken, id) })
	}
	sessions.PollJobs(t.Context())
	slices.Sort(woken)
	if diff := cmp.Diff([]string{"a", "b"}, woken); diff != "" || len(s.seen) != 3 {
		t.Errorf("%d calls, want 3; woken (-want +got):\n%s", len(s.seen), diff)
	}
}

func TestOneJobNeedsNoList(t *testing.T) {
	s := jobServer(t, nil, map[string]string{"a": `{"jobid":"a","jobstatus":1}`})
	sessions := newSessions(t, cloudstack.Options{})
	cloud, err := sessions.For(t.Context(), config(s.URL))
	if err != nil {
		t.Fatal(err)
	}
	woken := 0
	cloud.Follow("a", "createFirewallRule", func() { woken++ })
	sessions.PollJobs(t.Context())
	if got := cloud.Follow("a", "createFirewallRule", nil); got.State != cloudstack.JobSucceeded || woken != 1 || len(s.seen) != 1 {
		t.Errorf("the job is %s, woke %d times after %d calls, want Succeeded, one and one", got.State, woken, len(s.seen))
	}
}

// TestWhenJobsAreLookedAt: early where nothing else begins, and more and more seldom the longer a job takes; as seldom as ever
// while more jobs begin.
func TestWhenJobsAreLookedAt(t *testing.T) {
	rule := func(s *cloudstack.Session, id string) { s.Follow(cloudstack.Job(id), "createFirewallRule", nil) }
	machine := func(s *cloudstack.Session, id string) {
		s.FollowVM(cloudstack.Job(id), "deployVirtualMachine", cloudstack.Owner{}, id, nil)
	}
	destroyed := func(s *cloudstack.Session, id string) {
		s.FollowVM(cloudstack.Job(id), "destroyVirtualMachine", cloudstack.Owner{}, id, nil)
	}
	every := func(d time.Duration, n int) (all []time.Duration) {
		for i := range n {
			all = append(all, time.Duration(i)*d)
		}
		return all
	}
	tests := map[string]struct {
		begin  func(*cloudstack.Session, string)
		begins []time.Duration
		until  time.Duration
		want   []float64 // seconds
	}{
		"one of the network":              {rule, every(0, 1), 4 * time.Second, []float64{1, 1.5, 2, 2.75, 3.75}},
		"one about a machine":             {machine, every(0, 1), 4 * time.Second, []float64{1.5, 2, 2.75, 3.75}},
		"one that destroys a machine":     {destroyed, every(0, 1), 10 * time.Second, []float64{5.5, 7.5, 9.5}},
		"at most every two seconds":       {machine, every(0, 1), 16 * time.Second, []float64{1.5, 2, 2.75, 3.75, 5, 6.75, 8.75, 10.75, 12.75, 14.75}},
		"as long as more begin":           {machine, every(650*time.Millisecond, 10), 9 * time.Second, []float64{1.5, 3.5, 5.5, 7.5, 8, 8.75}},
		"as long as more begin, slowly":   {machine, every(time.Second, 5), 6 * time.Second, []float64{1.5, 3.5, 5.5, 6}},
		"when the next begins much later": {machine, []time.Duration{0, 5 * time.Second}, 8 * time.Second, []float64{1.5, 2, 2.75, 3.75, 5.75, 6.5, 7, 7.75}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			server := jobServer(t, nil, nil)
			running := says(200, `{"queryasyncjobresultresponse":{"jobstatus":0}}`)
			server.on("queryAsyncJobResult", running)
			clock := clocktesting.NewFakeClock(time.Now())
			sessions := newSessions(t, cloudstack.Options{Clock: clock})
			s, err := sessions.For(t.Context(), config(server.URL+"/client/api"))
			if err != nil {
				t.Fatal(err)
			}
			const tick = 250 * time.Millisecond
			var looks []float64
			begun, calls := 0, 0
			for now := time.Duration(0); now <= tc.until; now += tick {
				for ; begun < len(tc.begins) && tc.begins[begun] <= now; begun++ {
					tc.begin(s, fmt.Sprint(begun))
				}
				sessions.PollDueJobs(t.Context())
				if n := len(server.calls("queryAsyncJobResult")) + len(server.calls("listAsyncJobs")); n != calls {
					calls = n
					looks = append(looks, now.Seconds())
				}
				clock.Step(tick)
			}
			if diff := cmp.Diff(tc.want, looks); diff != "" {
				t.Errorf("looks after seconds (-want +got):\n%s", diff)
			}
		})
	}
}

// TestASilentCloudHoldsUpNoOther: while one server leaves a question open, jobs of another go on being seen to end.
func TestASilentCloudHoldsUpNoOther(t *testing.T) {
	silent, lively := newStub(t), newStub(t)
	ctx, cancel := context.WithCancel(t.Context())
	asked := make(chan struct{})
	silent.on("queryAsyncJobResult", func(_ http.ResponseWriter, r *http.Request) {
		close(asked)
		<-ctx.Done()
	})
	lively.on("queryAsyncJobResult", says(200, `{"queryasyncjobresultresponse":{"jobstatus":1}}`))
	clock := clocktesting.NewFakeClock(time.Now())
	sessions := newSessions(t, cloudstack.Options{Clock: clock})
	follow := func(server *stub, job string) <-chan struct{} {
		c := config(server.URL)
		c.UID = server.URL
		s, err := sessions.For(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		woken := make(chan struct{})
		s.Follow(cloudstack.Job(job), "createFirewallRule", func() { close(woken) })
		return woken
	}
	ended := make(chan error)
	go func() { ended <- sessions.Start(ctx) }()
	defer func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	ticks := time.NewTicker(time.Millisecond)
	defer ticks.Stop()
	await := func(what string, c <-chan struct{}) {
		t.Helper()
		deadline, stop := context.WithTimeout(t.Context(), 20*time.Second)
		defer stop()
		for {
			select {
			case <-c:
				return
			case <-deadline.Done():
				t.Fatalf("%s: not seen", what)
			case <-ticks.C:
				clock.Step(250 * time.Millisecond)
			}
		}
	}
	follow(silent, "a")
	await("the question to the silent server", asked)
	for _, job := range []string{"b", "c"} {
		await("the end of job "+job, follow(lively, job))
	}
}
