package step

import (
	"errors"
	"math/rand/v2"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Waiting says that nothing is wrong and that there is nothing more to do at this moment.
type Waiting struct {
	// Reason is the condition reason, a constant of the api package.
	Reason string
	// Message tells a person what is waited for.
	Message string
	// After is the time until the next look. Zero means that a watch or a finished task wakes the object.
	After time.Duration
}

func (w *Waiting) Error() string { return describe("waiting", w.Reason, w.Message, nil) }

// Failed says that a try failed for a known reason and that another try makes sense.
type Failed struct {
	// Reason is the condition reason, a constant of the api package.
	Reason string
	// Message tells a person what failed and what to do about it.
	Message string
	// After is the time until the next try. Zero leaves it to the backoff of the work queue.
	After time.Duration
	// Err is the cause, if there is one.
	Err error
}

func (f *Failed) Error() string { return describe("failed", f.Reason, f.Message, f.Err) }

// Unwrap returns the cause.
func (f *Failed) Unwrap() error { return f.Err }

// Terminal says that trying again is pointless until the spec changes. It needs proof: an unknown error is never terminal.
type Terminal struct {
	// Reason is the condition reason, a constant of the api package.
	Reason string
	// Message tells a person what is wrong and what to change.
	Message string
	// Err is the cause, if there is one.
	Err error
}

func (t *Terminal) Error() string { return describe("refused", t.Reason, t.Message, t.Err) }

// Unwrap returns the cause.
func (t *Terminal) Unwrap() error { return t.Err }

func describe(verb, reason, message string, cause error) string {
	text := verb + ": " + reason
	if message != "" {
		return text + ": " + message
	}
	if cause != nil {
		return text + ": " + cause.Error()
	}
	return text
}

// jitterShare is the part of a wait that chance may add, so that objects of one batch spread out.
const jitterShare = 0.1

// Conclude turns the outcome of Run into the answer to the work queue: nil and Waiting end the reconcile, the latter with
// a requeue when it names a time; Failed with a time is requeued then; Terminal is reported and not queued again; every
// other error goes to the queue's backoff. A time is lengthened by up to a tenth at random and never shortened.
func Conclude(err error) (ctrl.Result, error) {
	var waiting *Waiting
	var failed *Failed
	var terminal *Terminal
	switch {
	case err == nil:
		return ctrl.Result{}, nil
	case errors.As(err, &terminal):
		return ctrl.Result{}, reconcile.TerminalError(err)
	case errors.As(err, &failed):
		if failed.After > 0 {
			return ctrl.Result{RequeueAfter: jitter(failed.After)}, nil
		}
		return ctrl.Result{}, err
	case errors.As(err, &waiting):
		if waiting.After > 0 {
			return ctrl.Result{RequeueAfter: jitter(waiting.After)}, nil
		}
		return ctrl.Result{}, nil
	}
	return ctrl.Result{}, err
}

func jitter(d time.Duration) time.Duration {
	return d + time.Duration(rand.Float64()*jitterShare*float64(d))
}
