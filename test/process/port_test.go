package process_test

import (
	"net"
	"strconv"
	"testing"

	"github.com/capcat/capcat/test/process"
)

func TestFreePort(t *testing.T) {
	seen := map[int]bool{}
	for range 200 {
		port, err := process.FreePort()
		if err != nil {
			t.Fatal(err)
		}
		if port >= 32768 || seen[port] {
			t.Errorf("port %d may be given to an outgoing connection, or was given before", port)
		}
		seen[port] = true
	}
}

// A child that is killed finds its port free when it lives again.
func TestFreePortCanBeListenedOnAgain(t *testing.T) {
	port, err := process.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	for _, host := range []string{"127.0.0.1", "", "127.0.0.1"} {
		address := net.JoinHostPort(host, strconv.Itoa(port))
		l, err := net.Listen("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		c, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			t.Fatal(err)
		}
		s, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		for _, end := range []interface{ Close() error }{l, s, c} { // the server's end waits for a while, as after a kill
			if err := end.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestTailOfNothing(t *testing.T) {
	var p *process.Process
	if got := p.Tail(); got != "" {
		t.Errorf("Tail() = %q", got)
	}
}
