package process

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
)

const (
	// firstPort and lastPort are below the ports that most kernels give to outgoing connections, from 32768 on.
	firstPort, lastPort = 20000, 32000
	portTries           = 100
)

// FreePort gives a port that nobody has now, on any address. Where the system can (Linux), it stays this process's until that ends:
// children listen on it, one life after another, while no outgoing connection and no other caller of FreePort gets it in between.
// It fails when it found none in a hundred tries.
func FreePort() (int, error) {
	var last error
	for range portTries {
		port := firstPort + rand.N(lastPort-firstPort)
		if last = hold(port); last == nil {
			return port, nil
		}
	}
	return 0, fmt.Errorf("finding a free port between %d and %d: %w", firstPort, lastPort, last)
}

// listens tells whether a child can listen on a port now.
func listens(port int) error {
	l, err := net.Listen("tcp", fmt.Sprintf(":%d", port))
	if err != nil {
		return err
	}
	if err := l.Close(); err != nil {
		return errors.Join(errors.New("giving a port back"), err)
	}
	return nil
}
