package process_test

import (
	"errors"
	"net"
	"syscall"
	"testing"

	"github.com/capcat/capcat/test/process"
)

// Nobody who asks for a port alone, as the kernel does for outgoing connections, gets one that waits for the next life of its child.
func TestFreePortIsKept(t *testing.T) {
	port, err := process.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port}}
	d.Control = func(_, _ string, c syscall.RawConn) error {
		return c.Control(func(fd uintptr) {
			if err := syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 0); err != nil {
				t.Error(err)
			}
		})
	}
	if c, err := d.Dial("tcp", "127.0.0.1:9"); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("the port went to a connection: %v, %v", c, err)
	}
}
