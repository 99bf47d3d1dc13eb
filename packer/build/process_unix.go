//go:build unix

package build

import (
	"errors"
	"os/exec"
	"syscall"
)

// asGroup puts the program and all it starts into a group of their own. When the context ends, all of them are asked to stop, as
// by Ctrl-C at a terminal: Packer's first process passes nothing on.
func asGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return signalGroup(cmd, syscall.SIGINT) }
}

// endGroup kills what is left of the group.
func endGroup(cmd *exec.Cmd) error { return signalGroup(cmd, syscall.SIGKILL) }

func signalGroup(cmd *exec.Cmd, signal syscall.Signal) error {
	if cmd.Process == nil {
		return nil // it never ran
	}
	if err := syscall.Kill(-cmd.Process.Pid, signal); !errors.Is(err, syscall.ESRCH) {
		return err
	}
	return nil
}
