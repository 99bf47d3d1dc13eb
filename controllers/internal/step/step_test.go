package step_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/capcat/capcat/controllers/internal/step"
)

type trace struct{ ran []string }

func phase(name string, err error) step.Func[*trace] {
	return func(_ context.Context, t *trace) error {
		t.ran = append(t.ran, name)
		return err
	}
}

func TestRunStopsAtTheFirstError(t *testing.T) {
	waiting := &step.Waiting{Reason: "Downloading"}
	var s trace
	err := step.Run(t.Context(), &s, phase("resolve", nil), phase("await", waiting), phase("never", nil))
	if !errors.Is(err, waiting) {
		t.Fatalf("Run() = %v, want the error of the second phase itself", err)
	}
	if diff := cmp.Diff([]string{"resolve", "await"}, s.ran); diff != "" {
		t.Errorf("phases that ran (-want +got):\n%s", diff)
	}
}

func TestRunStopsWhenTheContextEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var s trace
	stop := func(context.Context, *trace) error { cancel(); return nil }
	err := step.Run(ctx, &s, stop, phase("never", nil))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Run() = %v, want context.Canceled", err)
	}
	if len(s.ran) != 0 {
		t.Errorf("phases %v ran after the context had ended", s.ran)
	}
}

func TestConclude(t *testing.T) {
	boom := errors.New("boom")
	tests := map[string]struct {
		err          error
		requeue      time.Duration
		wantErr      error
		wantTerminal bool
	}{
		"done":                               {},
		"a watch wakes us":                   {err: &step.Waiting{Reason: "Resolving"}},
		"look again later":                   {err: &step.Waiting{Reason: "Downloading", After: time.Minute}, requeue: time.Minute},
		"a wrapped wait is still a wait":     {err: fmt.Errorf("awaiting: %w", &step.Waiting{After: time.Second}), requeue: time.Second},
		"a failure with a time":              {err: &step.Failed{Reason: "QuotaExceeded", After: time.Hour, Err: boom}, requeue: time.Hour},
		"a failure without a time backs off": {err: &step.Failed{Reason: "Throttled", Err: boom}, wantErr: boom},
		"terminal is not tried again":        {err: &step.Terminal{Reason: "ContentRejected", Err: boom}, wantErr: boom, wantTerminal: true},
		"terminal wins over a failure in it": {err: &step.Terminal{Err: &step.Failed{After: time.Hour, Err: boom}}, wantErr: boom, wantTerminal: true},
		"anything else backs off":            {err: boom, wantErr: boom},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := step.Conclude(tc.err)
			if got.RequeueAfter < tc.requeue || got.RequeueAfter > tc.requeue+tc.requeue/10 {
				t.Errorf("RequeueAfter = %s, want %s and at most a tenth more", got.RequeueAfter, tc.requeue)
			}
			got.RequeueAfter = 0
			if diff := cmp.Diff(ctrl.Result{}, got); diff != "" {
				t.Errorf("rest of the result (-want +got):\n%s", diff)
			}
			if !errors.Is(err, tc.wantErr) {
				t.Errorf("error = %v, want %v", err, tc.wantErr)
			}
			if terminal := errors.Is(err, reconcile.TerminalError(nil)); terminal != tc.wantTerminal {
				t.Errorf("terminal = %t, want %t", terminal, tc.wantTerminal)
			}
		})
	}
}

func TestOutcomeTexts(t *testing.T) {
	boom := errors.New("boom")
	tests := map[string]struct {
		err  error
		want string
	}{
		"message":       {&step.Waiting{Reason: "Installing", Message: "zone-a installs the image"}, "waiting: Installing: zone-a installs the image"},
		"cause alone":   {&step.Failed{Reason: "SourceMissing", Err: boom}, "failed: SourceMissing: boom"},
		"reason alone":  {&step.Terminal{Reason: "ContentRejected"}, "refused: ContentRejected"},
		"message first": {&step.Terminal{Reason: "TooLarge", Message: "3 TiB", Err: boom}, "refused: TooLarge: 3 TiB"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := tc.err.Error(); got != tc.want {
				t.Errorf("Error() = %q, want %q", got, tc.want)
			}
		})
	}
}
