package cloudsim

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/capcat/capcat/test/cloudsim/internal/meta"
)

// Server is one simulated management server with everything that it manages. It is safe for concurrent use; calls are
// carried out one at a time, as transactions, except where they talk to the world outside.
type Server struct {
	opts    Options
	release string
	started time.Time

	mu sync.Mutex // guards all below
	timeline
	ids      *idSource
	catalog  *meta.Catalog
	byRole   rolesFile
	commands map[string]command
	enforced enforcement
	settings map[string]string
	sessions map[string]*session
	throttle map[*account]*window
	journal  []Entry
	faults   []*activeFault
	calls    int
	dice     *rand.Rand
	queues   map[string][]func()
	manager  managementServer

	domains  *table[*domain]
	accounts *table[*account]
	users    *table[*user]
	roles    *table[*role]
	zones    *table[*zone]
	jobs     *table[*job]
	projects *table[*project]
	events   *table[*eventRow]

	kinds map[string]lookuper
}

// KeyPair signs the calls of one caller.
type KeyPair struct {
	APIKey    string
	SecretKey string
}

// New builds and seeds a server. Close it when done.
func New(o Options) (*Server, error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	catalog, err := meta.Load()
	if err != nil {
		return nil, err
	}
	s := &Server{
		opts:     o,
		release:  releases()[o.Version],
		timeline: timeline{clock: o.Clock},
		ids:      newIDs(o.Seed),
		catalog:  catalog,
		commands: registry(),
		settings: map[string]string{},
		sessions: map[string]*session{},
		throttle: map[*account]*window{},
		dice:     newDice(o.Seed),
		queues:   map[string][]func(){},
		domains:  newTable[*domain]("domain"),
		accounts: newTable[*account]("account"),
		users:    newTable[*user]("user"),
		roles:    newTable[*role]("role"),
		zones:    newTable[*zone]("zone"),
		jobs:     newTable[*job]("job"),
		projects: newTable[*project]("project"),
		events:   newTable[*eventRow]("event"),
	}
	s.started = s.now()
	s.kinds = map[string]lookuper{}
	for _, t := range []lookuper{s.domains, s.accounts, s.users, s.roles, s.zones, s.jobs, s.projects, s.events} {
		s.kinds[t.name()] = t
	}
	if err := s.seed(); err != nil {
		return nil, fmt.Errorf("seeding preset %s: %w", o.Preset, err)
	}
	s.boot()
	return s, nil
}

// boot reads the settings that only a start of the server looks at.
func (s *Server) boot() {
	s.enforced = enforcement{
		timestamps: s.settings["enforce.post.requests.and.timestamps"] == "true",
		throttling: s.settings["api.throttling.enabled"] == "true",
	}
}

// Close ends what the server has running.
func (s *Server) Close() error { return nil }

// Keys returns the key pair of every seeded caller by account name.
func (s *Server) Keys() map[string]KeyPair {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[string]KeyPair{}
	for _, u := range s.users.rows {
		if u.live() && u.apiKey != "" {
			out[u.username] = KeyPair{u.apiKey, u.secret}
		}
	}
	return out
}

// Settings returns a copy of the global settings.
func (s *Server) Settings() map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.settings)
}

// newBase starts a row now.
func (s *Server) newBase() base {
	return base{id: s.ids.uuid(), created: s.now()}
}
