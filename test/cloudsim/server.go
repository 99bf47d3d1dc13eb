package cloudsim

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/capcat/capcat/test/cloudsim/internal/meta"
)

// Server is one simulated management server with everything that it manages. It is safe for concurrent use; calls are
// carried out one at a time, as transactions, except where they talk to the world outside.
type Server struct {
	opts    Options
	release string
	started time.Time
	uploads *uploadServer
	probing *http.Client
	byRole  rolesFile

	arrivals atomic.Int64 // calls that have come in, answered or not

	mu sync.Mutex // guards all below
	timeline
	world
	ids      *idSource
	dice     *rand.Rand
	catalog  *meta.Catalog
	commands map[string]command
	enforced enforcement
	// uploadPoll is how often the management server asks its storage about an upload.
	uploadPoll time.Duration
	sessions   map[string]*session
	throttle   map[*account]*window
	queues     map[string][]func()
	open       map[string][]*job // jobs that have not ended, by what they work on
	journal    []Entry
	calls      int
	macs       int // MAC addresses given out
	faults     []*activeFault

	told  map[*machine]guestRow // what the guests know of the machines
	holds map[*template]string  // versions that the operator gave templates
	front *front                // what listens on public addresses; nil without guests
	mark  net.Listener          // keeps the loopback addresses of the preset; nil for others
	ended chan struct{}         // is closed by Close
	going sync.WaitGroup        // what runs until then
}

// world is what the server manages.
type world struct {
	settings            map[string]string
	manager             managementServer
	networkCapabilities object

	domains          *table[*domain]
	accounts         *table[*account]
	users            *table[*user]
	roles            *table[*role]
	rules            *table[*rule]
	projects         *table[*project]
	zones            *table[*zone]
	pods             *table[*pod]
	clusters         *table[*cluster]
	hosts            *table[*host]
	imageStores      *table[*imageStore]
	physicalNetworks *table[*physicalNetwork]
	osCategories     *table[*osCategory]
	osTypes          *table[*osType]
	serviceOfferings *table[*offering]
	diskOfferings    *table[*offering]
	networkOfferings *table[*offering]
	vpcOfferings     *table[*offering]
	templates        *table[*template]
	tags             *table[*tag]
	affinityGroups   *table[*affinityGroup]
	networks         *table[*network]
	networking
	compute
	events *table[*eventRow]
	jobs   *table[*job]

	kinds map[string]lookuper // every table by the kind of its rows
}

func newWorld() world {
	w := world{
		settings:         map[string]string{},
		domains:          newTable[*domain]("domain"),
		accounts:         newTable[*account]("account"),
		users:            newTable[*user]("user"),
		roles:            newTable[*role]("role"),
		rules:            newTable[*rule]("rolepermission"),
		projects:         newTable[*project]("project"),
		zones:            newTable[*zone]("zone"),
		pods:             newTable[*pod]("pod"),
		clusters:         newTable[*cluster]("cluster"),
		hosts:            newTable[*host]("host"),
		imageStores:      newTable[*imageStore]("imagestore"),
		physicalNetworks: newTable[*physicalNetwork]("physicalnetwork"),
		osCategories:     newTable[*osCategory]("oscategory"),
		osTypes:          newTable[*osType]("ostype"),
		serviceOfferings: newTable[*offering]("serviceoffering"),
		diskOfferings:    newTable[*offering]("diskoffering"),
		networkOfferings: newTable[*offering]("networkoffering"),
		vpcOfferings:     newTable[*offering]("vpcoffering"),
		templates:        newTable[*template]("template"),
		tags:             newTable[*tag]("tag"),
		affinityGroups:   newTable[*affinityGroup]("affinitygroup"),
		networks:         newTable[*network]("network"),
		networking:       newNetworking(),
		compute:          newCompute(),
		events:           newTable[*eventRow]("event"),
		jobs:             newTable[*job]("job"),
	}
	w.kinds = map[string]lookuper{}
	for _, t := range []lookuper{w.domains, w.accounts, w.users, w.roles, w.rules, w.projects, w.zones, w.pods, w.clusters, w.hosts, w.imageStores,
		w.physicalNetworks, w.osCategories, w.osTypes, w.serviceOfferings, w.diskOfferings, w.networkOfferings, w.vpcOfferings, w.templates, w.affinityGroups,
		w.networks, w.events, w.jobs} {
		w.kinds[t.name()] = t
	}
	for _, t := range append(w.networking.tables(), w.compute.tables()...) {
		w.kinds[t.name()] = t
	}
	return w
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
		opts: o, release: releases()[o.Version], probing: newProbe(o.Resolve), timeline: timeline{clock: o.Clock}, world: newWorld(),
		ids: newIDs(o.Seed), dice: newDice(o.Seed), catalog: catalog, commands: registry(), sessions: map[string]*session{},
		throttle: map[*account]*window{}, queues: map[string][]func(){}, open: map[string][]*job{},
		told: map[*machine]guestRow{}, holds: map[*template]string{}, ended: make(chan struct{}),
	}
	s.started = s.now()
	if err := s.takeLoopback(); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(networkServicesJSON, &s.networkCapabilities); err != nil {
		return nil, fmt.Errorf("reading the services of networks: %w", err)
	}
	if err := s.seed(); err != nil {
		return nil, errors.Join(fmt.Errorf("seeding preset %s: %w", o.Preset, err), s.releaseLoopback())
	}
	if err := s.openStorage(); err != nil {
		return nil, errors.Join(err, s.releaseLoopback())
	}
	s.boot()
	s.after(measureEvery, s.measure)
	s.hostGuests()
	return s, nil
}

// boot reads the settings that only a start of the server looks at.
func (s *Server) boot() {
	s.enforced = enforcement{
		timestamps: s.settingTrue("enforce.post.requests.and.timestamps"),
		throttling: s.settingTrue("api.throttling.enabled"),
	}
	s.uploadPoll = time.Duration(max(s.settingNumber("upload.monitoring.interval", uploadSeconds), 1)) * time.Second
	s.manager.started = s.now()
}

// Close ends what the server has running, but not its guests. It is called once.
func (s *Server) Close() error {
	close(s.ended)
	s.going.Wait()
	if s.front != nil {
		s.front.close()
	}
	return errors.Join(s.uploads.close(), s.closeStores(), s.releaseLoopback())
}

// Keys returns the key pair of every caller by the name of its user; fresh accounts of a recorded preset go by the callers' names.
func (s *Server) Keys() map[string]KeyPair {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[string]KeyPair{}
	for _, u := range s.users.rows {
		if u.live() && u.apiKey != "" {
			name := u.username
			if u.caller != "" {
				name = u.caller
			}
			out[name] = KeyPair{u.apiKey, u.secret}
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
