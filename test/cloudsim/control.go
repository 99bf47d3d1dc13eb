package cloudsim

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"time"
)

// steppable is a clock that can be moved.
type steppable interface{ Step(d time.Duration) }

// settle is how long Advance waits, on the wall clock, for transfers that are under way: a small image over a local connection is
// there by then, so that a test which moves the clock sees it arrive.
const settle = 3 * time.Second

// maxAdvance is how far POST advance moves the clock at once: far enough for any expiry, and no number of seconds overflows.
const maxAdvance = 10 * 365 * 24 * time.Hour

// Advance moves the server's own clock and does what falls due meanwhile, each thing at its time. It fails on a clock that cannot be moved.
func (s *Server) Advance(d time.Duration) error {
	c, ok := s.opts.Clock.(steppable)
	if !ok {
		return errors.New("the clock of this server cannot be moved: it was not started with a manual one")
	}
	if d < 0 {
		return fmt.Errorf("cannot go back by %s", -d)
	}
	s.settleTransfers()
	c.Step(d)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.catchUp()
	s.settleGuests()
	return nil
}

// settleTransfers waits a moment for downloads.
func (s *Server) settleTransfers() {
	deadline := time.NewTimer(settle)
	defer deadline.Stop()
	for _, done := range s.transfers() {
		select {
		case <-done:
		case <-deadline.C:
			return
		}
	}
}

func (s *Server) transfers() []<-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []<-chan struct{}
	for _, t := range s.templates.rows {
		for _, cp := range t.liveCopies() {
			if cp.download != nil && !cp.ready && cp.state != stateError {
				out = append(out, cp.download.Done())
			}
		}
	}
	return out
}

// Restart kills the server and starts it again: jobs of the moment have failed, sessions are gone, settings are read anew.
func (s *Server) Restart() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.catchUp()
	s.manager.stopped = s.now()
	s.abandonJobs()
	s.settleMachines()
	s.sessions = map[string]*session{}
	s.throttle = map[*account]*window{}
	s.boot()
	s.settleGuests()
}

// ControlHandler serves what stands in for the operator of the server: advance, settings, restart, faults, journal, inventory, and a look
// at what runs in the machines.
func (s *Server) ControlHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /advance", control(func(in struct {
		Seconds float64 `json:"seconds"`
	}) (any, error) {
		if math.Abs(in.Seconds) > maxAdvance.Seconds() {
			return nil, fmt.Errorf("%v seconds are more than the %v that the clock moves at once", in.Seconds, maxAdvance.Seconds())
		}
		if err := s.Advance(time.Duration(in.Seconds * float64(time.Second))); err != nil {
			return nil, err
		}
		return map[string]any{"now": s.opts.Clock.Now().UTC()}, nil
	}))
	mux.HandleFunc("POST /settings", control(func(in struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}) (any, error) {
		if in.Name == "" {
			return nil, errors.New("a setting needs a name")
		}
		s.Set(in.Name, in.Value)
		return map[string]string{in.Name: in.Value}, nil
	}))
	mux.HandleFunc("GET /settings", control(func(struct{}) (any, error) { return s.Settings(), nil }))
	mux.HandleFunc("POST /restart", control(func(struct{}) (any, error) {
		s.Restart()
		return map[string]bool{"restarted": true}, nil
	}))
	mux.HandleFunc("POST /faults", control(func(in Fault) (any, error) { return in, s.AddFault(in) }))
	mux.HandleFunc("DELETE /faults", control(func(struct{}) (any, error) {
		s.ClearFaults()
		return map[string]bool{"cleared": true}, nil
	}))
	mux.HandleFunc("GET /journal", control(func(struct{}) (any, error) { return s.Journal(), nil }))
	mux.HandleFunc("GET /inventory", control(func(struct{}) (any, error) { return s.Inventory(), nil }))
	s.handleGuests(mux)
	return mux
}

// maxControl bounds what a control request may send.
const maxControl = 1 << 20

// control decodes the body of a request, if any, and encodes what f returns.
func control[T any](f func(T) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var in T
		w.Header().Set("Content-Type", "application/json")
		if r.Method != http.MethodGet {
			dec := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxControl))
			dec.DisallowUnknownFields()
			if err := dec.Decode(&in); err != nil && !errors.Is(err, io.EOF) {
				controlError(w, fmt.Errorf("reading the request: %w", err))
				return
			}
		}
		out, err := f(in)
		if err != nil {
			controlError(w, err)
			return
		}
		_ = json.NewEncoder(w).Encode(out) // a client that left is not an error of the server
	}
}

func controlError(w http.ResponseWriter, err error) {
	w.WriteHeader(http.StatusBadRequest)
	_ = json.NewEncoder(w).Encode(map[string]string{"error": err.Error()}) // as above
}
