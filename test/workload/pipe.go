package workload

import (
	"context"
	"net"
	"net/netip"
	"sync"
)

// port is a listener inside a machine: connections come by dial alone, never from a socket of this host.
type port struct {
	address net.Addr
	conns   chan net.Conn

	mu     sync.Mutex // guards all below
	open   map[net.Conn]struct{}
	closed bool
	done   chan struct{}
}

func newPort(at netip.AddrPort) *port {
	return &port{address: net.TCPAddrFromAddrPort(at), conns: make(chan net.Conn), open: map[net.Conn]struct{}{}, done: make(chan struct{})}
}

// Accept implements net.Listener.
func (p *port) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener. It also ends the connections through the port, as a loss of power does.
func (p *port) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil
	}
	p.closed = true
	close(p.done)
	for c := range p.open {
		_ = c.Close() // both ends of a pipe are ours
	}
	return nil
}

// Addr implements net.Listener.
func (p *port) Addr() net.Addr { return p.address }

// dial makes a connection to the port.
func (p *port) dial(ctx context.Context) (net.Conn, error) {
	near, far := net.Pipe()
	c := &portConn{Conn: far, port: p}
	if !p.keep(c) {
		return nil, refused(p.address)
	}
	select {
	case p.conns <- c:
		return near, nil
	case <-p.done:
	case <-ctx.Done():
	}
	_ = c.Close() // nobody has it
	return nil, refused(p.address)
}

func refused(at net.Addr) error {
	return &net.OpError{Op: "dial", Net: "tcp", Addr: at, Err: errRefused}
}

func (p *port) keep(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	p.open[c] = struct{}{}
	return true
}

// portConn is the machine's end of a connection.
type portConn struct {
	net.Conn
	port *port
}

// Close implements net.Conn.
func (c *portConn) Close() error {
	err := c.Conn.Close()
	go c.forget() // the port may be closing and hold its lock
	return err
}

func (c *portConn) forget() {
	c.port.mu.Lock()
	defer c.port.mu.Unlock()
	delete(c.port.open, c)
}

// LocalAddr implements net.Conn: handlers look it up.
func (c *portConn) LocalAddr() net.Addr { return c.port.address }
