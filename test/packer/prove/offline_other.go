//go:build !linux

package main

import (
	"context"
	"errors"
)

// isolate needs Linux.
func (p proof) isolate(context.Context) error {
	return errors.New("a network with nothing in it takes Linux")
}

func raiseLoopback(context.Context) error { return errors.New("this takes Linux") }
