//go:build unix

package build

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
)

// guard cleans up after this program when it is killed and cannot do so itself: a shell that waits for the end of a pipe. QEMU
// would otherwise run for ever, and the folder stay.
type guard struct {
	shell *exec.Cmd
	pipe  io.WriteCloser
}

// guardScript reads numbers of process groups; the last one is that which runs.
const guardScript = `trap '' HUP INT TERM
PATH=$PATH:/usr/bin:/bin
while read -r line; do group=$line; done
[ "${group:-0}" = 0 ] || kill -s KILL -- "-$group"
rm -rf -- "$1" || { sleep 1; rm -rf -- "$1"; }`

// newGuard removes the folder when this program ends before the guard does.
func newGuard(dir string) (*guard, error) {
	g := &guard{shell: exec.Command("/bin/sh", "-c", guardScript, "capcat-build-guard", dir)}
	g.shell.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is not for it
	var err error
	if g.pipe, err = g.shell.StdinPipe(); err != nil {
		return nil, err
	}
	if err := g.shell.Start(); err != nil {
		return nil, fmt.Errorf("starting the guard of the folder to work in: %w", err)
	}
	return g, nil
}

// watch names the process group that has to end with this program; 0 when there is none any more.
func (g *guard) watch(group int) error {
	_, err := fmt.Fprintln(g.pipe, group)
	return err
}

// end takes the guard away, without cleaning up.
func (g *guard) end() error {
	if err := g.shell.Process.Signal(os.Kill); err != nil {
		return fmt.Errorf("ending the guard of the folder to work in: %w", err)
	}
	_ = g.shell.Wait() // it was killed
	return nil
}
