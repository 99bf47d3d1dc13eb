//go:build !linux

package process

import (
	"errors"
	"sync"
)

var held sync.Map

// hold only looks whether a port is free and new to this process: a bound socket would keep children from listening.
func hold(port int) error {
	if _, again := held.LoadOrStore(port, true); again {
		return errors.New("the port was given before")
	}
	return listens(port)
}
