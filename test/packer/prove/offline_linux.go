package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// isolate runs this program again in a network of its own, in which there is nothing but a loopback device.
func (p proof) isolate(ctx context.Context) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	args := []string{"-offline", "-os", p.system, "-output", p.outputs, "-dir", p.dir}
	if p.reuse {
		args = append(args, "-reuse")
	}
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = p.root, p.out, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGTERM}
	if os.Geteuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	return cmd.Run()
}

// raiseLoopback brings the loopback device up.
func raiseLoopback(ctx context.Context) error {
	if text, err := exec.CommandContext(ctx, "ip", "link", "set", "lo", "up").CombinedOutput(); err != nil {
		return fmt.Errorf("bringing the loopback device up: %w\n%s", err, text)
	}
	return nil
}
