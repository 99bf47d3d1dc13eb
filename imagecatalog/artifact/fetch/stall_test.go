package fetch

import (
	"net/http"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/capcat/capcat/imagecatalog/artifact"
)

// stall sends n bytes and then nothing until the client is gone.
func stall(data []byte, n int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if n >= 0 {
			w.Header().Set("Content-Length", strconv.Itoa(len(data)))
			w.Write(data[:n])
			w.(http.Flusher).Flush()
		}
		<-r.Context().Done()
	}
}

// TestStalls lets the time pass when what the server sends has arrived and the next read waits.
func TestStalls(t *testing.T) {
	t.Parallel()
	data := content(100_000)
	half := int64(len(data) / 2)
	tests := map[string]struct {
		step    http.HandlerFunc
		arrived int64
		keeps   bool // something to resume stays
	}{
		"before the headers": {step: stall(data, -1)},
		"in the first bytes": {step: stall(data, 10)}, // which are looked at before any of them is counted
		"in the middle":      {step: with("ETag: "+etag, stall(data, int(half))), arrived: half, keeps: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, url := serve(t, tc.step)
			clock := clocktesting.NewFakeClock(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
			req, _ := request(t, url)
			req.Expect = []artifact.Digest{sha256Of(data)}
			var arrived atomic.Int64
			req.Progress = func(done, _ int64) { arrived.Store(done) }
			f := newFetcher(t, Options{AllowLoopback: true, Clock: clock, IdleTimeout: time.Minute, Attempts: 1})
			ended := make(chan error, 1)
			go func() {
				_, err := f.Fetch(t.Context(), req)
				ended <- err
			}()
			tick := time.NewTicker(time.Millisecond)
			defer tick.Stop()
			for {
				select {
				case err := <-ended:
					if got := len(server.requests()); got != 1 {
						t.Errorf("%d requests", got)
					}
					if artifact.CodeOf(err) != artifact.SourceStalled {
						t.Fatalf("error %v", err)
					}
					checkFailure(t, req, err, artifact.RetryBackoff, tc.keeps)
					return
				case <-tick.C:
					if len(server.requests()) == 1 && arrived.Load() >= tc.arrived && clock.HasWaiters() {
						clock.Step(time.Minute)
					}
				}
			}
		})
	}
}
