package cloudsim

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Phases of a call at which a fault can strike.
const (
	// PhaseBefore strikes before anything was done.
	PhaseBefore = "before"
	// PhaseDuring strikes in the middle: what the command does at once is done, its job fails, half of the reply is sent.
	PhaseDuring = "during"
	// PhaseAfter strikes when everything is done and only the reply is missing.
	PhaseAfter = "after"
)

// Kinds of faults.
const (
	FaultReset        = "reset"    // the connection is cut without a reply (during: in the middle of it)
	FaultError        = "error"    // HTTP 530, an internal error of the server
	Fault401          = "401"      // credentials not accepted
	Fault429          = "429"      // over the limit of calls
	Fault431          = "431"      // a value of the call is not accepted
	Fault432          = "432"      // the role does not allow the command, or the server does not know it
	Fault502          = "502"      // an HTML page of a proxy
	Fault533          = "533"      // nothing of the kind is free in the zone
	Fault535          = "535"      // over a limit of the account
	FaultDelay        = "delay"    // the reply comes late
	FaultJob          = "job"      // the reply is good, the job fails
	FaultRefuse       = "refuse"   // the job runs until it asks the router, the host or the storage, which refuses
	FaultCapacity     = "capacity" // no host has room for the machine that is to start
	FaultSlow         = "slow"     // the job takes some seconds of the server's clock more
	FaultRace         = "race"     // a deletion does not see what is being made meanwhile
	maxFaults         = 1000
	defaultFaultDelay = 2 * time.Second
)

func faultKinds() []string {
	return []string{FaultReset, FaultError, Fault401, Fault429, Fault431, Fault432, Fault502, Fault533, Fault535, FaultDelay, FaultJob, FaultRefuse, FaultCapacity,
		FaultSlow, FaultRace}
}

// Fault is a rule for calls that shall go wrong.
type Fault struct {
	// Command to strike; "*" or empty strikes any.
	Command string `json:"command"`
	// Phase is before (the default), during or after.
	Phase string `json:"phase"`
	// Kind is reset, error, 401, 429, 431, 432, 502, 533, 535, delay, job, refuse, capacity, slow or race.
	Kind string `json:"kind"`
	// Count is how many calls are struck, 0 means one, negative without end.
	Count int `json:"count"`
	// Skip lets as many matching calls pass first.
	Skip int `json:"skip"`
	// Probability strikes only some of the calls, drawn from the server's seed; 0 means all.
	Probability float64 `json:"probability"`
	// Seconds is how long a delay lasts on the wall clock, or how much longer a slow job takes on the server's own; 0 means 2.
	Seconds float64 `json:"seconds"`
	// Text replaces the text of an error.
	Text string `json:"text"`
}

type activeFault struct {
	Fault
	left, skip int
}

func (f *Fault) complete() error {
	if f.Phase == "" {
		f.Phase = PhaseBefore
	}
	if f.Count == 0 {
		f.Count = 1
	}
	switch {
	case !slices.Contains([]string{PhaseBefore, PhaseDuring, PhaseAfter}, f.Phase):
		return fmt.Errorf("unknown phase %q, known are before, during, after", f.Phase)
	case !slices.Contains(faultKinds(), f.Kind):
		return fmt.Errorf("unknown kind %q, known are %s", f.Kind, strings.Join(faultKinds(), ", "))
	case f.Probability < 0 || f.Probability > 1:
		return fmt.Errorf("probability %v is not between 0 and 1", f.Probability)
	case f.Seconds < 0 || f.Seconds > 3600:
		return fmt.Errorf("%v seconds are not between 0 and 3600", f.Seconds)
	}
	return nil
}

// AddFault adds a rule; rules are asked in the order in which they were added.
func (s *Server) AddFault(f Fault) error {
	if err := f.complete(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.faults) >= maxFaults {
		return errors.New("too many fault rules")
	}
	s.faults = append(s.faults, &activeFault{Fault: f, left: f.Count, skip: f.Skip})
	return nil
}

// ClearFaults drops every rule.
func (s *Server) ClearFaults() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = nil
}

// nextFault picks the rule that strikes a call, nil for none.
func (s *Server) nextFault(command string) *activeFault {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.faults {
		if f.left == 0 || (f.Command != "" && f.Command != "*" && !strings.EqualFold(f.Command, command)) {
			continue
		}
		if f.skip > 0 {
			f.skip--
			continue
		}
		if f.Probability > 0 && s.dice.Float64() >= f.Probability {
			continue
		}
		if f.left > 0 {
			f.left--
		}
		return f
	}
	return nil
}

// failsJob says whether the job of a struck call fails. With a phase it asks for that phase only.
func (f *activeFault) failsJob(phase string) bool {
	if f.Kind != FaultJob && (f.Phase != PhaseDuring || f.inside() || f.Kind == FaultDelay) {
		return false
	}
	return phase == "" || f.Phase == phase
}

// duration is how long a delay lasts.
func (f *activeFault) duration() time.Duration {
	if f.Seconds == 0 {
		return defaultFaultDelay
	}
	return time.Duration(f.Seconds * float64(time.Second))
}

// inside says whether a fault strikes inside the job of a command, whatever its phase.
func (f *activeFault) inside() bool {
	return f.Kind == FaultRefuse || f.Kind == FaultCapacity || f.Kind == FaultSlow || f.Kind == FaultRace
}

// refused says whether what the job of a call asks, a router, a host or a storage, is to refuse.
func (c *call) refused() bool { return c.fault != nil && c.fault.Kind == FaultRefuse }

// play writes what the client gets instead of out, or nothing; it returns false when out is still to be written.
func (f *activeFault) play(w http.ResponseWriter, r *http.Request, out *answer) bool {
	switch f.Kind {
	case FaultJob, FaultRefuse, FaultCapacity, FaultSlow, FaultRace:
		return false
	case FaultDelay:
		select {
		case <-time.After(f.duration()):
		case <-r.Context().Done():
		}
		return false
	case FaultReset:
		f.reset(w, out)
		return true
	}
	f.reply().write(w)
	return true
}

// reset cuts the connection; in the middle of a call half of the reply goes out first.
func (f *activeFault) reset(w http.ResponseWriter, out *answer) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler) // the server's own way to cut a connection that cannot be taken over
	}
	if f.Phase == PhaseDuring && out != nil {
		fmt.Fprintf(conn, "HTTP/1.1 %d OK\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s", out.status, out.contentType, len(out.body), out.body[:len(out.body)/2])
	}
	_ = conn.Close() // nothing is left to be said to this client
}

func (f *activeFault) status() int {
	switch f.Kind {
	case FaultReset:
		return 0
	case FaultError:
		return 530
	}
	code, err := strconv.Atoi(f.Kind)
	if err != nil {
		return http.StatusOK // the reply is none of the fault's
	}
	return code
}

func (f *activeFault) describe() string { return "fault " + f.Phase + " " + f.Kind }

// reply is the answer of a proxy or of the server's own error handling.
func (f *activeFault) reply() *answer {
	if f.Kind == Fault502 {
		return &answer{status: 502, contentType: "text/html", body: []byte("<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>\r\n<center><h1>502 Bad Gateway</h1></center>\r\n</body>\r\n</html>\r\n")}
	}
	e := f.refusal()
	if f.Text != "" {
		e.text, e.hidden = f.Text, false
	}
	return &answer{status: e.code, contentType: jsonType, description: e.text, body: writeReply("errorresponse", e.body(true))}
}

// refusal is what the server itself says.
func (f *activeFault) refusal() *apiError {
	switch f.Kind {
	case Fault401:
		return unauthorized()
	case Fault429:
		return wrapped(429, "The given user has reached his/her account api limit, please retry after [1000] ms.")
	case Fault431:
		return badParam("Unable to execute API command %s due to invalid value. A parameter does not have the form that is asked for", strings.ToLower(f.Command))
	case Fault432:
		return notAvailable(f.Command, "0")
	case Fault533:
		return wrapped(533, "Insufficient capacity in the zone for what is asked")
	case Fault535:
		return wrapped(535, "Maximum number of resources for the account has been exceeded.")
	}
	return internal(hiddenFromUsers)
}

func newDice(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0x64696365)) }
