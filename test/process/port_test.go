package process_test

import (
	"net"
	"strconv"
	"testing"

	"github.com/capcat/capcat/test/process"
)

func TestFreePort(t *testing.T) {
	for range 20 {
		port, err := process.FreePort()
		if err != nil {
			t.Fatal(err)
		}
		if port >= 32768 {
			t.Errorf("port %d may be given to an outgoing connection", port)
		}
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			t.Errorf("port %d is not free: %v", port, err)
			continue
		}
		defer l.Close()
	}
}

func TestTailOfNothing(t *testing.T) {
	var p *process.Process
	if got := p.Tail(); got != "" {
		t.Errorf("Tail() = %q", got)
	}
}
