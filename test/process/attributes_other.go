//go:build !linux

package process

import "syscall"

// attributes puts the child into its own group, so that a Ctrl-C at the terminal reaches only us and we end our children in order.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
