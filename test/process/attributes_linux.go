package process

import "syscall"

// attributes puts the child into its own group, so that a Ctrl-C at the terminal reaches only us and we end our children in
// order, and has the kernel end it when we die without doing so.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}
