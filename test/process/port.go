package process

import (
	"errors"
	"math/rand/v2"
	"net"
	"strconv"
)

const (
	// firstPort and lastPort are below the ports that kernels give to outgoing connections, from 32768 on as a rule: none of these
	// takes a port before the child listens on it, or between two of its lives.
	firstPort, lastPort = 20000, 32000
	portTries           = 100
)

// FreePort gives a loopback port that nobody has now. It fails when it found none in a hundred tries.
func FreePort() (int, error) {
	for range portTries {
		port := firstPort + rand.N(lastPort-firstPort)
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			continue
		}
		return port, l.Close()
	}
	return 0, errors.New("no free port between " + strconv.Itoa(firstPort) + " and " + strconv.Itoa(lastPort))
}
