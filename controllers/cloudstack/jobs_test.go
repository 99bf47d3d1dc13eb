package cloudstack_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

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
	if n := len(s.calls("listAsyncJobs")); n != 2 {
		t.Errorf("%d lists for two looks, want 2", n)
	}
	if n := len(s.calls("queryAsyncJobResult")); n != 6 {
		t.Errorf("%d queries, want 6: one for each that is no longer listed and has not ended before", n)
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

// TestShortJobsAreLookedAtEarly: a job of the network is asked for a second after it began, once; one about a machine in its
// turn.
func TestShortJobsAreLookedAtEarly(t *testing.T) {
	server := newStub(t)
	server.on("queryAsyncJobResult", says(200, `{"queryasyncjobresultresponse":{"jobid":"j","jobstatus":0}}`))
	server.on("listAsyncJobs", says(200, `{"listasyncjobsresponse":{"count":1,"asyncjobs":[{"jobid":"vm","jobstatus":0},{"jobid":"rule","jobstatus":0}]}}`))
	clock := clocktesting.NewFakeClock(time.Now())
	sessions := newSessions(t, cloudstack.Options{Clock: clock})
	s, err := sessions.For(t.Context(), config(server.URL+"/client/api"))
	if err != nil {
		t.Fatal(err)
	}
	sessions.PollJobs(t.Context())
	s.Follow("rule", "createFirewallRule", nil)
	s.FollowVM("vm", "deployVirtualMachine", cloudstack.Owner{}, "id", nil)
	looks := func() [2]int {
		return [2]int{len(server.calls("queryAsyncJobResult")), len(server.calls("listAsyncJobs"))}
	}
	for _, step := range []struct {
		after time.Duration
		want  [2]int
	}{
		{500 * time.Millisecond, [2]int{0, 0}}, {500 * time.Millisecond, [2]int{1, 0}}, {500 * time.Millisecond, [2]int{1, 0}},
		{1500 * time.Millisecond, [2]int{1, 1}}, {time.Second, [2]int{1, 1}}, {2 * time.Second, [2]int{1, 2}},
	} {
		clock.Step(step.after)
		sessions.PollDueJobs(t.Context())
		if got := looks(); got != step.want {
			t.Errorf("after %s more there were %v looks at one job and at all, want %v", step.after, got, step.want)
		}
	}
}
