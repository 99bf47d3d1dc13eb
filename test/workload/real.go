package workload

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"

	"github.com/capcat/capcat/test/controlplane"
	"github.com/capcat/capcat/test/process"
)

// realTier runs a kube-apiserver and an etcd for each control-plane machine, as processes of this host.
type realTier struct {
	log      logr.Logger
	programs controlplane.Programs
	dir      string
	own      bool // the folder is removed at the end

	mu     sync.Mutex // guards all below
	planes int
}

// Real is the tier with a real kube-apiserver and a real etcd for each control-plane machine. Programs are found as those of test suites
// are, or built, which is told on out. Data and logs go below dir; an empty one means a temporary folder that Close removes.
func Real(ctx context.Context, dir string, log logr.Logger, out io.Writer) (Tier, error) {
	programs, err := controlplane.Find(ctx, out)
	if err != nil {
		return nil, fmt.Errorf("finding the programs of control planes: %w", err)
	}
	t := &realTier{log: log, programs: programs, dir: dir}
	if dir == "" {
		t.own = true
		if t.dir, err = os.MkdirTemp("", "workload-"); err != nil {
			return nil, fmt.Errorf("making a folder for control planes: %w", err)
		}
	}
	return t, nil
}

// Close implements Tier.
func (t *realTier) Close() error {
	if !t.own {
		return nil
	}
	if err := os.RemoveAll(t.dir); err != nil {
		return fmt.Errorf("removing the data of control planes: %w", err)
	}
	return nil
}

func (t *realTier) begin(ctx context.Context, m *member) (plane, error) {
	t.mu.Lock()
	t.planes++
	p := &realPlane{tier: t, dir: filepath.Join(t.dir, "cluster-"+strconv.Itoa(t.planes)), members: map[string]*realMember{}}
	t.mu.Unlock()
	var err error
	if p.objects, err = newRealStore(p, m.pki.ca); err != nil {
		return nil, err
	}
	if err := p.join(ctx, m); err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

// realPlane is a control plane of processes.
type realPlane struct {
	tier    *realTier
	dir     string
	objects *realStore

	mu      sync.Mutex // guards all below
	members map[string]*realMember
	turn    int
}

// realMember is a member with what of it is real.
type realMember struct {
	*member
	plane *realPlane
	dir   string
	// Ports on the loopback address of this host; they stay, for other members know them.
	apiAt, clientAt, peerAt int
	initial, state          string // of the etcd cluster, when it joined

	mu        sync.Mutex // guards all below
	etcd, api *process.Process
}

const (
	loopback    = "127.0.0.1"
	readyWithin = 3 * time.Minute
)

func (p *realPlane) store() store { return p.objects }

// join implements plane.
func (p *realPlane) join(ctx context.Context, m *member) error {
	if p.get(m.name) != nil {
		return fmt.Errorf("etcd has a member %q already", m.name)
	}
	r := &realMember{member: m, plane: p, dir: filepath.Join(p.dir, m.name)}
	if err := r.prepare(); err != nil {
		return err
	}
	if err := p.addMember(ctx, r); err != nil {
		return err
	}
	p.mu.Lock()
	p.members[m.name] = r
	p.mu.Unlock()
	if err := r.run(ctx); err != nil {
		p.forget(m.name)
		return errors.Join(err, p.removeMember(ctx, m.name))
	}
	return nil
}

// resume implements plane.
func (p *realPlane) resume(ctx context.Context, m *member) error {
	r := p.get(m.name)
	switch {
	case r == nil:
		return errRemoved
	case r.runs():
		return nil
	}
	r.guest.unserve()
	r.kill()
	err := r.run(ctx)
	if err != nil && strings.Contains(err.Error(), "permanently removed") {
		p.forget(m.name)
		return errRemoved
	}
	return err
}

// forget implements plane.
func (p *realPlane) forget(name string) {
	p.mu.Lock()
	r := p.members[name]
	delete(p.members, name)
	p.mu.Unlock()
	if r != nil {
		r.kill()
	}
}

func (p *realPlane) close() {
	p.mu.Lock()
	members := p.members
	p.members = map[string]*realMember{}
	p.mu.Unlock()
	for _, r := range members {
		r.guest.unserve()
		r.kill()
	}
	if err := os.RemoveAll(p.dir); err != nil {
		p.tier.log.Error(err, "The data of a cluster stays")
	}
}

func (p *realPlane) get(name string) *realMember {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.members[name]
}

// working are the members whose processes run, another one first each time.
func (p *realPlane) working() []*realMember {
	var out []*realMember
	for _, r := range p.all() {
		if r.runs() {
			out = append(out, r)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(out) > 1 {
		p.turn++
		first := p.turn % len(out)
		out = append(out[first:len(out):len(out)], out[:first]...)
	}
	return out
}

// tend implements plane. A member that etcd has removed ends by itself, and its kubelet finds that out.
func (p *realPlane) tend(ctx context.Context) bool {
	for _, r := range p.all() {
		if r.started() && !r.runs() {
			r.guest.unserve()
		}
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	return p.objects.ready(ctx) == nil
}

func (p *realPlane) all() []*realMember {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Collect(maps.Values(p.members))
}

// dial connects to the API server of a member that works.
func (p *realPlane) dial(ctx context.Context) (net.Conn, error) {
	errs := []error{errors.New("no member works")}
	for _, r := range p.working() {
		var d net.Dialer
		c, err := d.DialContext(ctx, "tcp", net.JoinHostPort(loopback, strconv.Itoa(r.apiAt)))
		if err == nil {
			return c, nil
		}
		errs = append(errs, err)
	}
	return nil, errors.Join(errs...)
}
