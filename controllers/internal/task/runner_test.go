package task_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/capcat/capcat/controllers/internal/task"
)

type runner = task.Runner[string, int, string]

func newRunner(t *testing.T, workers int) (*runner, chan string) {
	t.Helper()
	woken := make(chan string, 16)
	r := task.NewRunner[string, int, string](task.Options[string]{Workers: workers, Wake: func(k string) { woken <- k }})
	t.Cleanup(r.Stop)
	return r, woken
}

func answer(value string, err error) task.Work[int, string] {
	return func(context.Context, func(int, bool)) (string, error) { return value, err }
}

// blocked is work that tells when it began and ends when it is let go or cancelled.
func blocked(began chan<- string, name string, release <-chan struct{}) task.Work[int, string] {
	return func(ctx context.Context, report func(int, bool)) (string, error) {
		began <- name
		select {
		case <-release:
			return name, nil
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
}

func TestOutcomeStaysAndWakes(t *testing.T) {
	boom := errors.New("boom")
	r, woken := newRunner(t, 1)
	if got := r.Ensure(t.Context(), "a", "v1", answer("x", boom)).Phase; got != task.Queued {
		t.Errorf("phase of a new task = %v, want Queued", got)
	}
	if key := <-woken; key != "a" {
		t.Errorf("woke %q, want a", key)
	}
	for range 2 {
		got := r.Ensure(t.Context(), "a", "v1", answer("other", nil))
		if got.Phase != task.Done || got.Value != "x" || !errors.Is(got.Err, boom) {
			t.Errorf("state = %+v, want the outcome of the first work", got)
		}
	}
	r.Cancel("a")
	if got := r.State("a").Phase; got != task.Absent {
		t.Errorf("phase after Cancel = %v, want Absent", got)
	}
}

func TestOneRunAKeyAndBoundedWorkers(t *testing.T) {
	r, woken := newRunner(t, 1)
	began, release := make(chan string, 4), make(chan struct{})
	r.Ensure(t.Context(), "a", "v1", blocked(began, "a", release))
	if got := <-began; got != "a" {
		t.Fatalf("%q began, want a", got)
	}
	if r.Idle() {
		t.Error("Idle() with the only worker busy")
	}
	r.Ensure(t.Context(), "a", "v1", blocked(began, "a again", release))
	r.Ensure(t.Context(), "b", "v1", blocked(began, "b", release))
	if got := r.State("b").Phase; got != task.Queued {
		t.Errorf("phase of the second key = %v, want Queued", got)
	}
	close(release)
	if diff := cmp.Diff([]string{"a", "b", "b"}, []string{<-woken, <-began, <-woken}); diff != "" {
		t.Errorf("order of events (-want +got):\n%s", diff)
	}
	if !r.Idle() {
		t.Error("not Idle() after all work has ended")
	}
}

func TestAnotherFingerprintReplacesTheTask(t *testing.T) {
	r, woken := newRunner(t, 2)
	began := make(chan string, 4)
	first := make(chan error, 1)
	r.Ensure(t.Context(), "a", "v1", func(ctx context.Context, _ func(int, bool)) (string, error) {
		began <- "v1"
		<-ctx.Done()
		first <- ctx.Err()
		return "old", ctx.Err()
	})
	<-began
	r.Ensure(t.Context(), "a", "v2", answer("new", nil))
	if err := <-first; !errors.Is(err, context.Canceled) {
		t.Errorf("the replaced work ended with %v, want context.Canceled", err)
	}
	<-woken
	if got := r.State("a"); got.Value != "new" || got.Err != nil {
		t.Errorf("state = %+v, want the outcome of v2", got)
	}
	select {
	case key := <-woken:
		t.Errorf("the replaced task woke %q", key)
	default:
	}
}

func TestProgressWakesOnRequest(t *testing.T) {
	r, woken := newRunner(t, 1)
	release := make(chan struct{})
	r.Ensure(t.Context(), "a", "v1", func(_ context.Context, report func(int, bool)) (string, error) {
		report(1, false)
		report(2, true)
		<-release
		return "", nil
	})
	<-woken
	if got := r.State("a"); got.Phase != task.Running || got.Progress != 2 {
		t.Errorf("state = %+v, want Running with progress 2", got)
	}
	close(release)
	<-woken
}

func TestEndOfTheReconcileDoesNotEndTheTask(t *testing.T) {
	r, woken := newRunner(t, 1)
	ctx, cancel := context.WithCancel(t.Context())
	began, release := make(chan string, 1), make(chan struct{})
	r.Ensure(ctx, "a", "v1", blocked(began, "a", release))
	<-began
	cancel()
	close(release)
	<-woken
	if got := r.State("a"); got.Err != nil || got.Value != "a" {
		t.Errorf("state = %+v, want success", got)
	}
}

func TestStopCancelsAndWakesNobody(t *testing.T) {
	r, woken := newRunner(t, 1)
	began := make(chan string, 2)
	r.Ensure(t.Context(), "a", "v1", blocked(began, "a", nil))
	r.Ensure(t.Context(), "b", "v1", blocked(began, "b", nil))
	<-began
	r.Stop()
	if got := r.State("a"); !errors.Is(got.Err, context.Canceled) {
		t.Errorf("state after Stop = %+v, want context.Canceled", got)
	}
	if got := r.State("b"); got.Phase != task.Done || !errors.Is(got.Err, context.Canceled) {
		t.Errorf("state of the queued task after Stop = %+v, want context.Canceled", got)
	}
	if len(woken) != 0 {
		t.Errorf("%d wake-ups after Stop", len(woken))
	}
}

func TestPanicIsAnError(t *testing.T) {
	r, woken := newRunner(t, 1)
	r.Ensure(t.Context(), "a", "v1", func(context.Context, func(int, bool)) (string, error) { panic("bad header") })
	<-woken
	if err := r.State("a").Err; err == nil || !strings.Contains(err.Error(), "bad header") {
		t.Errorf("error = %v, want one that names the panic", err)
	}
}
