package cloudstack

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"
)

// Options sets how sessions behave. The zero value is usable.
type Options struct {
	// Clock is used for rates, caches, signatures and polls; the real one if nil.
	Clock clock.WithTicker
	// CallsPerSecond and Burst bound the calls of one session; 0 means 10. A negative rate means no bound.
	CallsPerSecond float64
	Burst          int
	// Timeout bounds one call; 0 means a minute. Calls that make CloudStack look at a source itself get three times as much.
	Timeout time.Duration
	// Registerer takes the metrics; nil leaves them unregistered.
	Registerer prometheus.Registerer
}

// Sessions hands out one session a credential and forgets a session when its credential was replaced.
type Sessions struct {
	options Options
	metrics *callMetrics

	mu    sync.Mutex
	byUID map[string]*Session
	used  map[string]time.Time
}

// NewSessions makes an empty pool. An error means that the metrics could not be registered.
func NewSessions(o Options) (*Sessions, error) {
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.CallsPerSecond == 0 {
		o.CallsPerSecond = 10
	}
	if o.Burst <= 0 {
		o.Burst = 10
	}
	if o.Timeout <= 0 {
		o.Timeout = time.Minute
	}
	metrics, err := newCallMetrics(o.Registerer)
	if err != nil {
		return nil, fmt.Errorf("registering the metrics of the API calls: %w", err)
	}
	return &Sessions{options: o, metrics: metrics, byUID: map[string]*Session{}, used: map[string]time.Time{}}, nil
}

// For returns the session of a credential and makes it on first sight. A config whose UID is known with another Revision
// replaces that session: who still holds the old one may finish with it. It does not speak to the server.
// An error means that the config is unusable.
func (p *Sessions) For(_ context.Context, c Config) (*Session, error) {
	if c.UID == "" || c.Revision == "" {
		return nil, errors.New("a session needs the UID and the revision of its credential")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.options.Clock.Now()
	old := p.byUID[c.UID]
	if old != nil && old.revision == c.Revision {
		p.used[c.UID] = now
		return old, nil
	}
	if err := c.Validate(); err != nil {
		return nil, err
	}
	s, err := p.open(c)
	if err != nil {
		return nil, err
	}
	if old != nil {
		s.jobs.inherit(old.jobs)
		s.vms.inherit(old.vms)
		s.networkWatch.inherit(old.networkWatch)
		old.base.CloseIdleConnections()
	}
	p.byUID[c.UID], p.used[c.UID] = s, now
	p.forgetUnused(now)
	return s, nil
}

// unused is how long a session is kept that nobody asks for.
const unused = 24 * time.Hour

// forgetUnused drops the sessions of credentials that are no longer there.
func (p *Sessions) forgetUnused(now time.Time) {
	for uid, at := range p.used {
		if now.Sub(at) > unused {
			p.byUID[uid].base.CloseIdleConnections()
			delete(p.byUID, uid)
			delete(p.used, uid)
		}
	}
}

// Forget drops the sessions whose UID begins so: their credentials are no more, and nothing is polled with them.
func (p *Sessions) Forget(prefix string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for uid, s := range p.byUID {
		if strings.HasPrefix(uid, prefix) {
			s.base.CloseIdleConnections()
			delete(p.byUID, uid)
			delete(p.used, uid)
		}
	}
}

func (p *Sessions) open(c Config) (*Session, error) {
	settings, err := c.TLS()
	if err != nil {
		return nil, err
	}
	base := newBaseTransport(settings)
	s := &Session{revision: c.Revision, endpoint: c.URL, clock: p.options.Clock, base: base, memo: newMemo(p.options.Clock), tls: settings}
	s.redact = newRedactor(c.APIKey, c.SecretKey)
	w := &wire{endpoint: c.URL, apiKey: c.APIKey, secret: c.SecretKey, base: base, clock: p.options.Clock, redact: s.redact}
	limit := newLimiter(p.options.CallsPerSecond, p.options.Burst, p.options.Clock)
	s.chain = deadline(p.timeout)(limit.link(p.metrics.link(w.send)))
	s.jobs, s.vms, s.networkWatch = newJobs(s), newInventory(s), newNetworkWatch(s)
	return s, nil
}

func (p *Sessions) timeout(command string) time.Duration {
	if command == "registerTemplate" {
		return 3 * p.options.Timeout
	}
	return p.options.Timeout
}

// Start polls the open jobs of all sessions, and what is watched, until the context ends. It makes Sessions a
// manager.Runnable.
func (p *Sessions) Start(ctx context.Context) error {
	var loops sync.WaitGroup
	// None of them waits for the calls of another.
	loops.Go(func() { p.loop(ctx, jobTick, pollDueJobs) })
	for _, poll := range []poll{pollMachines, pollNetworks} {
		loops.Go(func() { p.loop(ctx, watchTick, poll) })
	}
	loops.Wait()
	return nil
}

// watchTick is how often it is seen whether anything watched is due.
const watchTick = 2 * time.Second

// poll looks at something of a session.
type poll func(context.Context, *Session)

func pollDueJobs(ctx context.Context, s *Session)  { s.jobs.pollDue(ctx) }
func pollMachines(ctx context.Context, s *Session) { s.vms.poll(ctx) }
func pollNetworks(ctx context.Context, s *Session) { s.networkWatch.poll(ctx) }

// loop polls every session again and again. A cloud that does not answer holds up no other.
func (p *Sessions) loop(ctx context.Context, period time.Duration, look poll) {
	ticker := p.options.Clock.NewTicker(period)
	defer ticker.Stop()
	var looks sync.WaitGroup
	defer looks.Wait()
	var busy sync.Map
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
		}
		for _, s := range p.all() {
			if _, still := busy.LoadOrStore(s, true); still {
				continue
			}
			looks.Go(func() {
				defer busy.Delete(s)
				look(ctx, s)
			})
		}
	}
}

// NeedLeaderElection makes the manager run Start in the leader only.
func (p *Sessions) NeedLeaderElection() bool { return true }

// PollJobs looks once at the open jobs of every session that has any. Failures are kept until the next look.
func (p *Sessions) PollJobs(ctx context.Context) {
	p.each(func(s *Session) { s.jobs.poll(ctx) })
}

// PollDueJobs is PollJobs as often as is worth while: soon after a job began, and more seldom the longer it takes.
func (p *Sessions) PollDueJobs(ctx context.Context) {
	p.each(func(s *Session) { pollDueJobs(ctx, s) })
}

// PollMachines lists the machines of every owner that are watched, when their last listing is old.
func (p *Sessions) PollMachines(ctx context.Context) {
	p.each(func(s *Session) { pollMachines(ctx, s) })
}

// PollNetworks looks at what is watched of clusters on the network, when the last look is old.
func (p *Sessions) PollNetworks(ctx context.Context) {
	p.each(func(s *Session) { pollNetworks(ctx, s) })
}

// each does something with every session at the same time.
func (p *Sessions) each(do func(*Session)) {
	var wg sync.WaitGroup
	for _, s := range p.all() {
		wg.Go(func() { do(s) })
	}
	wg.Wait()
}

func (p *Sessions) all() []*Session {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Collect(maps.Values(p.byUID))
}

// Session speaks to one endpoint as one user. It is immutable and safe for concurrent use.
type Session struct {
	revision string
	endpoint string
	clock    clock.WithTicker
	base     *http.Transport
	chain    link
	redact   redactor
	memo     *memo
	jobs     *jobs
	tls      *tls.Config

	vms          *inventory
	networkWatch *networkWatch
}

// TLS gives settings for other servers of the same cloud, such as upload addresses.
func (s *Session) TLS() *tls.Config { return s.tls.Clone() }

// Redact cleans a text that came from CloudStack for conditions, events and logs.
func (s *Session) Redact(text string) string { return s.redact.text(text) }
