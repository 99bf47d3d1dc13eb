package cloudstack

import (
	"context"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/utils/clock"
)

// limiter spaces the calls of a session, and stops them all for as long as the server asked when it answered 429. From then on
// no more come at once than are sent in a second: the server counts by the second.
type limiter struct {
	bucket *rate.Limiter
	clock  clock.Clock

	mu          sync.Mutex
	closedUntil time.Time
}

// defaultPause is taken when a 429 does not say how long to wait.
const defaultPause = time.Second

func newLimiter(perSecond float64, burst int, c clock.Clock) *limiter {
	limit := rate.Limit(perSecond)
	if perSecond < 0 {
		limit = rate.Inf
	}
	return &limiter{bucket: rate.NewLimiter(limit, burst), clock: c}
}

func (l *limiter) link(next link) link {
	return func(ctx context.Context, r request) (reply, error) {
		if err := l.wait(ctx, r.command); err != nil {
			return reply{}, err
		}
		out, err := next(ctx, r)
		if Is(err, Throttled) {
			l.close(err)
		}
		return out, err
	}
}

// wait returns when the call may be sent. While the server asked for silence it fails at once instead, so that workers
// do not sleep; the waits of the bucket are short.
func (l *limiter) wait(ctx context.Context, command string) error {
	now := l.clock.Now()
	l.mu.Lock()
	pause := l.closedUntil.Sub(now)
	l.mu.Unlock()
	if pause > 0 {
		return &Error{Kind: Throttled, Command: command, After: pause, Text: "the server asked to wait"}
	}
	reservation := l.bucket.ReserveN(now, 1)
	delay := reservation.DelayFrom(now)
	if delay <= 0 {
		return nil
	}
	timer := l.clock.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C():
		return nil
	case <-ctx.Done():
		reservation.CancelAt(l.clock.Now())
		return &Error{Kind: Unavailable, Command: command, Text: "the call waited too long for its turn", Err: ctx.Err()}
	}
}

func (l *limiter) close(err error) {
	pause := AfterOf(err)
	if pause <= 0 {
		pause = defaultPause
	}
	now := l.clock.Now()
	if perSecond := l.bucket.Limit(); perSecond < rate.Limit(l.bucket.Burst()) {
		l.bucket.SetBurstAt(now, max(1, int(perSecond)))
	}
	until := now.Add(pause)
	l.mu.Lock()
	defer l.mu.Unlock()
	if until.After(l.closedUntil) {
		l.closedUntil = until
	}
}
