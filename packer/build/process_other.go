//go:build !unix

package build

import "os/exec"

// asGroup does nothing: the program alone is killed when the context ends.
func asGroup(*exec.Cmd) {}

// endGroup does nothing.
func endGroup(*exec.Cmd) error { return nil }
