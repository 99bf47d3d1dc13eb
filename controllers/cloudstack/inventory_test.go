package cloudstack_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/capcat/capcat/controllers/cloudstack"
	"github.com/capcat/capcat/test/cloudsim"
)

// wakes counts wake-ups by name.
type wakes map[string]int

func (w wakes) of(name string) func() { return func() { w[name]++ } }

// machines deploys some machines at once and waits until they run.
func (s *site) machines(t *testing.T, n int) []string {
	t.Helper()
	ids := make([]string, 0, n)
	for i := range n {
		vm := s.vm
		vm.Name = fmt.Sprintf("vm-%d", i)
		id, _, err := s.DeployVM(t.Context(), vm)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	s.clock.Step(2 * time.Minute)
	return ids
}

// minutes lets time pass as it passes for a manager, three seconds a look.
func (s *site) minutes(t *testing.T, n int) {
	t.Helper()
	for range n * 20 {
		s.clock.Step(3 * time.Second)
		s.sessions.PollJobs(t.Context())
		s.sessions.PollMachines(t.Context())
		s.sessions.PollNetworks(t.Context())
	}
}

func TestOneListingWatchesAllMachines(t *testing.T) {
	s := newSite(t)
	ids := s.machines(t, 5)
	woken := wakes{}
	for _, id := range ids {
		if sight := s.WatchVM(cloudstack.Owner{}, id, woken.of(id)); !sight.At.IsZero() {
			t.Errorf("before any listing %s is seen as %+v", id, sight)
		}
	}
	before := s.calls("")
	s.minutes(t, 10)
	if got := s.calls("") - before; got > 13 {
		t.Errorf("%d calls in ten minutes, want at most 13", got)
	}
	for _, id := range ids {
		sight := s.WatchVM(cloudstack.Owner{}, id, nil)
		age := s.clock.Now().Sub(sight.At)
		if woken[id] != 1 || !sight.Found || sight.VM.State != cloudstack.VMRunning || len(sight.VM.Addresses()) != 1 || age > time.Minute {
			t.Errorf("%s was woken %d times and is seen %s ago as %+v, want once, running", id, woken[id], age, sight)
		}
	}

	root := s.as(t, "admin")
	if _, err := root.StopVM(t.Context(), ids[1]); err != nil {
		t.Fatal(err)
	}
	if _, err := root.DestroyVM(t.Context(), ids[3], cloudstack.DestroyOptions{Expunge: true}); err != nil {
		t.Fatal(err)
	}
	s.minutes(t, 1)
	want := wakes{ids[0]: 1, ids[1]: 2, ids[2]: 1, ids[3]: 2, ids[4]: 1}
	if diff := cmp.Diff(want, woken); diff != "" {
		t.Errorf("wake-ups a minute after two machines changed (-want +got):\n%s", diff)
	}
	if sight := s.WatchVM(cloudstack.Owner{}, ids[3], nil); sight.Found {
		t.Errorf("the lost machine is seen as %+v", sight)
	}
	s.UnwatchVM(cloudstack.Owner{}, ids[3])
	s.minutes(t, 1)
	if diff := cmp.Diff(want, woken); diff != "" {
		t.Errorf("wake-ups a minute later (-want +got):\n%s", diff)
	}
}

func TestAbsenceNeedsAListingFromAfterTheWatch(t *testing.T) {
	s := newSite(t)
	s.machines(t, 1)
	if _, err := s.VMsNamedSince(t.Context(), cloudstack.Owner{}, s.zone, "none", s.clock.Now().Add(-time.Second)); err != nil {
		t.Fatal(err)
	}
	n := s.vm
	n.Name = "late"
	id, _, err := s.DeployVM(t.Context(), n)
	if err != nil {
		t.Fatal(err)
	}
	woken := wakes{}
	if sight := s.WatchVM(cloudstack.Owner{}, id, woken.of("late")); !sight.At.IsZero() {
		t.Errorf("a listing from before the machine shows %+v", sight)
	}
	s.minutes(t, 1)
	if sight := s.WatchVM(cloudstack.Owner{}, id, nil); !sight.Found || woken["late"] == 0 {
		t.Errorf("the machine is seen as %+v, woken %d times", sight, woken["late"])
	}
}

func TestAFailedListingLosesNoMachine(t *testing.T) {
	s := newSite(t)
	id := s.machines(t, 1)[0]
	woken := wakes{}
	s.WatchVM(cloudstack.Owner{}, id, woken.of(id))
	s.minutes(t, 1)
	for _, kind := range []string{cloudsim.FaultError, cloudsim.FaultReset, cloudsim.Fault401, cloudsim.Fault429, cloudsim.Fault502} {
		if err := s.AddFault(cloudsim.Fault{Command: "listVirtualMachines", Kind: kind, Count: 2}); err != nil {
			t.Fatal(err)
		}
		before := s.calls("listVirtualMachines")
		s.minutes(t, 2)
		if sight := s.WatchVM(cloudstack.Owner{}, id, nil); !sight.Found || woken[id] != 1 {
			t.Errorf("after %s the machine is seen as %+v, woken %d times", kind, sight, woken[id])
		}
		if got := s.calls("listVirtualMachines") - before; got > 5 {
			t.Errorf("%d listings in two minutes with two failures", got)
		}
	}
}

func TestWatchesSurviveARotatedCredential(t *testing.T) {
	s := newSite(t)
	ids := s.machines(t, 2)
	woken := wakes{}
	for _, id := range ids {
		s.WatchVM(cloudstack.Owner{}, id, woken.of(id))
	}
	s.minutes(t, 1)
	keys := s.Keys()["tenant"]
	rotated, err := s.sessions.For(t.Context(), cloudstack.Config{
		UID: "tenant", Revision: "2", URL: s.address, APIKey: keys.APIKey, SecretKey: keys.SecretKey,
	})
	if err != nil {
		t.Fatal(err)
	}
	if sight := rotated.WatchVM(cloudstack.Owner{}, ids[0], nil); !sight.Found {
		t.Errorf("the new session sees %+v, want what the old one saw", sight)
	}
	if _, err := rotated.StopVM(t.Context(), ids[1]); err != nil {
		t.Fatal(err)
	}
	s.minutes(t, 1)
	if woken[ids[0]] != 1 || woken[ids[1]] != 2 {
		t.Errorf("wake-ups %v, want one more of the stopped machine", woken)
	}
}

func TestOneListingEndsManyJobs(t *testing.T) {
	s := newSite(t)
	woken := wakes{}
	var ids []string
	var jobs []cloudstack.Job
	for i := range 10 {
		n := s.vm
		n.Name = fmt.Sprintf("vm-%d", i)
		id, job, err := s.DeployVM(t.Context(), n)
		if err != nil {
			t.Fatal(err)
		}
		s.FollowVM(job, "deployVirtualMachine", cloudstack.Owner{}, id, woken.of(n.Name))
		s.WatchVM(cloudstack.Owner{}, id, nil)
		ids, jobs = append(ids, id), append(jobs, job)
	}
	before := s.calls("")
	s.minutes(t, 1)
	for i, job := range jobs {
		outcome := s.FollowVM(job, "deployVirtualMachine", cloudstack.Owner{}, ids[i], nil)
		sight := s.WatchVM(cloudstack.Owner{}, ids[i], nil)
		if outcome.State != cloudstack.JobSucceeded || sight.VM.State != cloudstack.VMRunning || len(sight.VM.Addresses()) != 1 {
			t.Errorf("%s is %+v and seen as %+v, want it running", job, outcome, sight)
		}
	}
	if got := s.calls("queryAsyncJobResult"); got > 0 {
		t.Errorf("%d jobs were asked for one by one", got)
	}
	if got := s.calls("") - before; got > 12 {
		t.Errorf("%d calls to learn of ten machines, want at most 12", got)
	}
	for _, id := range ids {
		job, err := s.DestroyVM(t.Context(), id, cloudstack.DestroyOptions{})
		if err != nil {
			t.Fatal(err)
		}
		s.FollowVM(job, "destroyVirtualMachine", cloudstack.Owner{}, id, woken.of(id))
	}
	s.minutes(t, 1)
	for _, id := range ids {
		if sight := s.WatchVM(cloudstack.Owner{}, id, nil); woken[id] != 1 || sight.Found {
			t.Errorf("the destroyed machine %s woke %d times and is seen as %+v", id, woken[id], sight)
		}
	}
	if got := s.calls("queryAsyncJobResult"); got > 0 {
		t.Errorf("%d jobs were asked for one by one", got)
	}
}

func TestAJobThatTheStateDoesNotTellIsAskedFor(t *testing.T) {
	s := newSite(t)
	n := s.vm
	n.Stopped = true
	id, job, err := s.DeployVM(t.Context(), n)
	if err != nil {
		t.Fatal(err)
	}
	s.FollowVM(job, "deployVirtualMachine", cloudstack.Owner{}, id, nil)
	s.minutes(t, 1)
	got := s.FollowVM(job, "deployVirtualMachine", cloudstack.Owner{}, id, nil)
	if got.State != cloudstack.JobSucceeded || s.calls("queryAsyncJobResult") != 1 {
		t.Errorf("the job is %+v after %d questions, want success after one", got, s.calls("queryAsyncJobResult"))
	}
	// Expunging is not permitted, so the job fails and the machine stays.
	job, err = s.DestroyVM(t.Context(), id, cloudstack.DestroyOptions{Expunge: true})
	if err != nil {
		t.Fatal(err)
	}
	s.FollowVM(job, "destroyVirtualMachine", cloudstack.Owner{}, id, nil)
	s.minutes(t, 1)
	got = s.FollowVM(job, "destroyVirtualMachine", cloudstack.Owner{}, id, nil)
	if got.State != cloudstack.JobFailed || got.Err == nil || got.Err.Kind != cloudstack.Forbidden {
		t.Errorf("the job is %+v, want it failed with Forbidden", got)
	}
}

// TestManyMachinesCostFewCalls goes the way of a machine controller, at the pace of a real server.
func TestManyMachinesCostFewCalls(t *testing.T) {
	const machines = 60
	s := newSiteOf(t, "admin")
	start := s.clock.Now()
	before := s.calls("")
	ids := map[string]cloudstack.Job{}
	for i := range machines {
		s.clock.Step(time.Second)
		n := s.vm
		n.Name = fmt.Sprintf("vm-%d", i)
		if found, err := s.VMsNamedSince(t.Context(), cloudstack.Owner{}, s.zone, n.Name, start); err != nil || len(found) > 0 {
			t.Fatalf("before %s there is %+v, %v", n.Name, found, err)
		}
		id, job, err := s.DeployVM(t.Context(), n)
		if err != nil {
			t.Fatal(err)
		}
		s.WatchVM(cloudstack.Owner{}, id, nil)
		s.FollowVM(job, "deployVirtualMachine", cloudstack.Owner{}, id, nil)
		ids[id] = job
		if i%3 == 0 {
			s.sessions.PollJobs(t.Context())
			s.sessions.PollMachines(t.Context())
		}
	}
	s.minutes(t, 1)
	for id, job := range ids {
		outcome := s.FollowVM(job, "deployVirtualMachine", cloudstack.Owner{}, id, nil)
		if sight := s.WatchVM(cloudstack.Owner{}, id, nil); outcome.State != cloudstack.JobSucceeded || len(sight.VM.Addresses()) != 1 {
			t.Errorf("%s is %+v and seen as %+v, want it running", id, outcome, sight)
		}
	}
	calls := s.calls("") - before
	t.Logf("%.2f calls a machine", float64(calls)/machines)
	if calls > 2*machines {
		t.Errorf("%d calls for %d machines, want at most two each", calls, machines)
	}
	before = s.calls("")
	for id := range ids {
		job, err := s.DestroyVM(t.Context(), id, cloudstack.DestroyOptions{})
		if err != nil {
			t.Fatal(err)
		}
		s.FollowVM(job, "destroyVirtualMachine", cloudstack.Owner{}, id, nil)
	}
	s.minutes(t, 1)
	for id := range ids {
		if sight := s.WatchVM(cloudstack.Owner{}, id, nil); sight.Found {
			t.Errorf("%s is seen as %+v, want it gone", id, sight.VM.State)
		}
	}
	calls = s.calls("") - before
	t.Logf("%.2f calls a destroyed machine", float64(calls)/machines)
	if calls > 3*machines/2 {
		t.Errorf("%d calls to destroy %d machines", calls, machines)
	}
}
