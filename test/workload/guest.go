package workload

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/capcat/capcat/test/cloudsim"
)

var (
	errNoPower = errors.New("the machine has no power")
	errRefused = errors.New("connection refused")
)

// disk is what a machine keeps while it is off.
type disk struct {
	provisioned bool // cloud-init has run
	kubernetes  string
	files       map[string]file
	kubelet     *kubelet // nil until kubeadm is through with it
}

// guest is one machine from the inside.
type guest struct {
	world   *World
	console console
	disk    disk // of the boot that runs: one boot ends before the next begins

	mu        sync.Mutex // guards all below
	machine   cloudsim.Guest
	cancel    context.CancelFunc // nil without power
	booted    chan struct{}      // closed when what the last power brought has ended
	ports     map[int]*port
	losses    []func()        // what the loss of power ends beside the ports
	ending    []chan struct{} // closed when those of the last loss have ended
	beat      time.Time       // of the kubelet
	vip       netip.AddrPort  // that kube-vip would claim; zero for none
	destroyed bool
	expunged  bool
}

func newGuest(w *World, m cloudsim.Guest) *guest {
	ended := make(chan struct{})
	close(ended)
	return &guest{world: w, machine: m, disk: disk{files: map[string]file{}}, booted: ended, ports: map[int]*port{}}
}

// powerOn begins a boot, after the one before it has ended.
func (g *guest) powerOn(m cloudsim.Guest) {
	ctx, cancel := context.WithCancel(g.world.ctx)
	g.mu.Lock()
	ended := make(chan struct{})
	before := append(g.ending, g.booted)
	g.machine, g.cancel, g.booted, g.ending, g.destroyed = m, cancel, ended, nil, false
	g.mu.Unlock()
	g.world.wg.Go(func() {
		defer close(ended)
		for _, b := range before {
			<-b
		}
		g.run(ctx)
	})
}

// powerOff ends everything that runs in the machine at once.
func (g *guest) powerOff() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.cancel == nil {
		return
	}
	g.cancel()
	g.cancel = nil
	g.end()
}

// end stops what serves on the machine. The lock is held.
func (g *guest) end() {
	for n, p := range g.ports {
		_ = p.Close() // it never fails
		delete(g.ports, n)
	}
	for _, f := range g.losses {
		ended := make(chan struct{})
		g.ending = append(g.ending, ended)
		g.world.wg.Go(func() {
			defer close(ended)
			f()
		})
	}
	g.losses = nil
}

// atLoss has something ended with the power of the machine. It is ended at once when there is no power.
func (g *guest) atLoss(f func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.cancel == nil {
		g.world.wg.Go(f)
		return
	}
	g.losses = append(g.losses, f)
}

func (g *guest) discard(expunged bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.destroyed, g.expunged = true, expunged
}

// on says whether the machine has power.
func (g *guest) on() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.cancel != nil
}

// gone says whether the machine is destroyed.
func (g *guest) gone() (destroyed, expunged bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.destroyed, g.expunged
}

func (g *guest) beats() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.beat = time.Now()
}

// silent is for how long the kubelet has not reported.
func (g *guest) silent() time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	return time.Since(g.beat)
}

// say prints on the console.
func (g *guest) say(format string, args ...any) { g.console.print(time.Now(), format, args...) }

// self is the machine as it last started.
func (g *guest) self() cloudsim.Guest {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.machine
}

// address is that of the default NIC, or of the first that has one.
func (g *guest) address() netip.Addr {
	for _, n := range g.self().NICs {
		if n.Address.IsValid() {
			return n.Address
		}
	}
	return netip.Addr{}
}

// listen opens a port of the machine. It fails without power, and when the port is taken.
func (g *guest) listen(number int) (*port, error) {
	p := newPort(netip.AddrPortFrom(g.address(), uint16(number)))
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.cancel == nil:
		return nil, errNoPower
	case g.ports[number] != nil:
		return nil, errors.New("address already in use")
	}
	g.ports[number] = p
	return p, nil
}

func (g *guest) dial(ctx context.Context, number int) (net.Conn, error) {
	at := netip.AddrPortFrom(g.address(), uint16(number))
	g.mu.Lock()
	p, on := g.ports[number], g.cancel != nil
	g.mu.Unlock()
	switch {
	case !on:
		return nil, errNoPower
	case p == nil:
		return nil, refused(net.TCPAddrFromAddrPort(at))
	}
	return p.dial(ctx)
}

func (g *guest) hasPort(number int) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.ports[number] != nil
}

// unserve ends what serves on the machine, which keeps its power.
func (g *guest) unserve() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.end()
}

// published are the ports that others than the machines of the cluster use.
func published(number int) bool { return number != etcdPort }

func (g *guest) serves() []netip.AddrPort {
	g.mu.Lock()
	var out []netip.AddrPort
	for n := range g.ports {
		if published(n) {
			out = append(out, netip.AddrPortFrom(netip.Addr{}, uint16(n)))
		}
	}
	g.mu.Unlock()
	if len(out) == 0 {
		return nil
	}
	if v, ok := g.virtual(); ok && g.holdsVirtual(v) {
		out = append(out, v)
	}
	return out
}
