package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// ErrExited says that a child ended before it was ready.
var ErrExited = errors.New("exited before it was ready")

const (
	defaultGrace = 20 * time.Second
	readyPoll    = 50 * time.Millisecond
	tailBytes    = 4 << 10
)

// Spec says what to run.
type Spec struct {
	// Name is used in messages; default: the base name of Path.
	Name string
	// Path of the program.
	Path string
	// Args without the program's name.
	Args []string
	// Env is added to the environment of this process.
	Env []string
	// Log is the file that receives stdout and stderr; it is truncated unless Append is set.
	Log string
	// Append keeps what an earlier run of the program said.
	Append bool
	// Ready is asked again and again until it returns nil; nil means ready as soon as the program runs.
	Ready func(context.Context) error
	// Grace is how long Stop waits after SIGTERM before it kills; default 20 s.
	Grace time.Duration
}

// Process is a running child.
type Process struct {
	spec Spec
	cmd  *exec.Cmd
	done chan struct{}
	err  error
}

// Start runs the program and returns when it is ready. The context bounds the start only: a ready child runs until Stop.
// A child that ends early or is not ready in time is stopped, and the error carries the end of its log.
func Start(ctx context.Context, s Spec) (*Process, error) {
	if s.Name == "" {
		s.Name = filepath.Base(s.Path)
	}
	if s.Grace == 0 {
		s.Grace = defaultGrace
	}
	p := &Process{spec: s, cmd: exec.Command(s.Path, s.Args...), done: make(chan struct{})}
	if err := p.launch(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", s.Name, err)
	}
	if err := p.awaitReady(ctx); err != nil {
		err = fmt.Errorf("starting %s: %w%s", s.Name, err, p.tailNote())
		return nil, errors.Join(err, p.Stop())
	}
	return p, nil
}

func (p *Process) launch() error {
	mode := os.O_TRUNC
	if p.spec.Append {
		mode = os.O_APPEND
	}
	log, err := os.OpenFile(p.spec.Log, os.O_CREATE|os.O_WRONLY|mode, 0o644)
	if err != nil {
		return fmt.Errorf("creating the log: %w", err)
	}
	p.cmd.Stdout, p.cmd.Stderr = log, log
	p.cmd.Env = append(os.Environ(), p.spec.Env...)
	p.cmd.SysProcAttr = attributes()
	started := make(chan error)
	go func() {
		// The kernel signals the child when the starting thread ends, so the thread must last as long as the child.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer log.Close()
		err := p.cmd.Start()
		started <- err
		if err == nil {
			p.err = p.cmd.Wait()
			close(p.done)
		}
	}()
	return <-started
}

func (p *Process) awaitReady(ctx context.Context) error {
	if p.spec.Ready == nil {
		return nil
	}
	tick := time.NewTicker(readyPoll)
	defer tick.Stop()
	for {
		err := p.spec.Ready(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-p.done:
			return fmt.Errorf("%w: %w", ErrExited, orExitZero(p.err))
		case <-ctx.Done():
			return fmt.Errorf("%w; last answer: %w", context.Cause(ctx), err)
		case <-tick.C:
		}
	}
}

func orExitZero(err error) error {
	if err == nil {
		return errors.New("exit status 0")
	}
	return err
}

// Stop asks the child to end, kills it after the grace period, and waits for it. It may be called more than once.
func (p *Process) Stop() error {
	if p == nil {
		return nil
	}
	select {
	case <-p.done:
		return nil
	default:
	}
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	timer := time.NewTimer(p.spec.Grace)
	defer timer.Stop()
	select {
	case <-p.done:
		return nil
	case <-timer.C:
	}
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL) // the whole group
	<-p.done
	return fmt.Errorf("%s did not end within %s and was killed", p.spec.Name, p.spec.Grace)
}

// Kill ends the child and all that it started at once, as a loss of power does, and waits for it. It may be called more than once.
func (p *Process) Kill() {
	if p == nil {
		return
	}
	select {
	case <-p.done:
	default:
		_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL) // the whole group; it may have ended by itself
		<-p.done
	}
}

// Done is closed when the child has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Err tells how the child ended; it is only meaningful after Done.
func (p *Process) Err() error { return p.err }

// PID of the child.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Tail returns the last 4 KiB of the child's log.
func (p *Process) Tail() string {
	if p == nil {
		return ""
	}
	f, err := os.Open(p.spec.Log)
	if err != nil {
		return ""
	}
	defer f.Close()
	if st, err := f.Stat(); err == nil && st.Size() > tailBytes {
		if _, err := f.Seek(-tailBytes, 2); err != nil {
			return ""
		}
	}
	b := make([]byte, tailBytes)
	n, _ := f.Read(b)
	return strings.TrimSpace(string(b[:n]))
}

func (p *Process) tailNote() string {
	if tail := p.Tail(); tail != "" {
		return "\n--- end of " + p.spec.Log + " ---\n" + tail
	}
	return ""
}
