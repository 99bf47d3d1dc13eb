package cloudsim

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"
)

const (
	// rebindAfter is how long a listener that could not be opened is left alone.
	rebindAfter = time.Second
	// dialMember bounds the connection to one machine behind a listener.
	dialMember = 3 * time.Second
)

// front is what listens in the name of the simulated routers and of guests on shared networks.
type front struct {
	server *Server

	mu     sync.Mutex // guards all below
	open   map[netip.AddrPort]*listener
	failed map[netip.AddrPort]bindFailure
	ended  bool
	wg     sync.WaitGroup
}

type bindFailure struct {
	err   error
	retry time.Time
}

// listener accepts connections at one address and port.
type listener struct {
	front *front
	at    netip.AddrPort
	net.Listener
	turn  int                   // of round robin
	conns map[net.Conn]struct{} // both ends of what it carries
}

func newFront(s *Server) *front {
	return &front{server: s, open: map[netip.AddrPort]*listener{}, failed: map[netip.AddrPort]bindFailure{}}
}

// adjust opens what is wanted and closes what is not any more.
func (f *front) adjust(wanted map[netip.AddrPort]bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for at, l := range f.open {
		if !wanted[at] {
			l.shut()
			delete(f.open, at)
		}
	}
	for at := range f.failed {
		if !wanted[at] {
			delete(f.failed, at)
		}
	}
	for at := range wanted {
		if f.open[at] == nil && !f.ended {
			f.bind(at)
		}
	}
}

// bind opens a listener. An address that this host does not have is no error of the server: presets are free to use any.
func (f *front) bind(at netip.AddrPort) {
	now := time.Now()
	if was, ok := f.failed[at]; ok && now.Before(was.retry) {
		return
	}
	ln, err := net.Listen("tcp", at.String())
	if err != nil {
		if _, known := f.failed[at]; !known {
			f.server.opts.Log.Info("Cannot listen for a machine", "address", at, "reason", err.Error())
		}
		f.failed[at] = bindFailure{err, now.Add(rebindAfter)}
		return
	}
	delete(f.failed, at)
	l := &listener{front: f, at: at, Listener: ln, conns: map[net.Conn]struct{}{}}
	f.open[at] = l
	f.wg.Go(l.serve)
}

// close ends all listeners and what they carry.
func (f *front) close() {
	f.mu.Lock()
	f.ended = true
	f.mu.Unlock()
	f.adjust(nil)
	f.wg.Wait()
}

// shut closes a listener and the connections through it.
func (l *listener) shut() {
	_ = l.Close() // a listener that is closed already is as good
	for c := range l.conns {
		_ = c.Close() // as above
	}
}

func (l *listener) serve() {
	for {
		c, err := l.Accept()
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				return
			}
			continue // this connection failed, not the listener
		}
		l.front.wg.Go(func() { l.carry(c) })
	}
}

// carry connects a client with a machine. A client that the rules keep out, or that no machine answers, is reset.
func (l *listener) carry(client net.Conn) {
	if !l.keep(client) {
		reset(client)
		return
	}
	defer l.forget(client)
	machine, err := l.dial(client)
	if err != nil {
		l.front.server.opts.Log.V(1).Info("No connection to a machine", "address", l.at, "client", client.RemoteAddr().String(), "reason", err.Error())
		reset(client)
		return
	}
	if !l.keep(machine) {
		reset(client)
		_ = machine.Close()
		return
	}
	defer l.forget(machine)
	join(client, machine)
}

// keep remembers a connection so that it ends with its listener; false when that has ended.
func (l *listener) keep(c net.Conn) bool {
	l.front.mu.Lock()
	defer l.front.mu.Unlock()
	if l.front.open[l.at] != l {
		return false
	}
	l.conns[c] = struct{}{}
	return true
}

func (l *listener) forget(c net.Conn) {
	_ = c.Close() // it may have been closed with the listener
	l.front.mu.Lock()
	defer l.front.mu.Unlock()
	delete(l.conns, c)
}

// dial tries the machines that a client may be led to, one after another.
func (l *listener) dial(client net.Conn) (net.Conn, error) {
	from, err := netip.ParseAddrPort(client.RemoteAddr().String())
	if err != nil {
		return nil, fmt.Errorf("reading the address of the client: %w", err)
	}
	targets := l.front.server.targets(l.at, from.Addr().Unmap(), l.next())
	errs := []error{errors.New("no machine takes it")}
	for _, t := range targets {
		ctx, cancel := context.WithTimeout(context.Background(), dialMember)
		c, err := l.front.server.opts.Guests.Dial(ctx, t.machine, t.port)
		cancel()
		if err == nil {
			return c, nil
		}
		errs = append(errs, err)
	}
	return nil, errors.Join(errs...)
}

func (l *listener) next() int {
	l.front.mu.Lock()
	defer l.front.mu.Unlock()
	l.turn++
	return l.turn
}

// reset closes a connection as a router does that has nobody to give it to.
func reset(c net.Conn) {
	if t, ok := c.(*net.TCPConn); ok {
		_ = t.SetLinger(0) // it is closed either way
	}
	_ = c.Close() // as above
}

// join copies in both directions until both have ended, or one has failed.
func join(a, b net.Conn) {
	var wg sync.WaitGroup
	pipe := func(to, from net.Conn) {
		_, err := io.Copy(to, from)
		half, ok := to.(interface{ CloseWrite() error })
		if err != nil || !ok || half.CloseWrite() != nil {
			_, _ = a.Close(), b.Close() // the other direction has nothing to wait for
		}
	}
	wg.Go(func() { pipe(a, b) })
	wg.Go(func() { pipe(b, a) })
	wg.Wait()
}

// Listening tells where the server listens for machines, and where it wanted to and could not with the reason.
func (s *Server) Listening() (open []netip.AddrPort, failed map[netip.AddrPort]string) {
	failed = map[netip.AddrPort]string{}
	if s.front == nil {
		return nil, failed
	}
	s.front.mu.Lock()
	defer s.front.mu.Unlock()
	for at := range s.front.open {
		open = append(open, at)
	}
	slices.SortFunc(open, netip.AddrPort.Compare)
	for at, why := range s.front.failed {
		failed[at] = why.err.Error()
	}
	return open, failed
}
