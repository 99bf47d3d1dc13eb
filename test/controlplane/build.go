package controlplane

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// build describes one program that is compiled from a Go module pinned by a small module of ours.
type build struct {
	name, version string
	module        string // folder of the pinning module, from the top of the repository
	pkg           string // main package
	ldflags       string
	takes         string // how long the first build takes on two cores, for people who wait
	cache         string
}

func (b build) dir() string {
	return filepath.Join(b.cache, fmt.Sprintf("%s-%s-%s", b.name, b.version, platform()))
}

func (b build) target() string { return filepath.Join(b.dir(), b.name) }

// run compiles the program into the cache unless it is there. Of several processes one compiles and the others wait for it.
func (b build) run(ctx context.Context, out io.Writer) error {
	root, err := Root()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(b.dir(), 0o755); err != nil {
		return fmt.Errorf("building %s: %w", b.name, err)
	}
	unlock, err := lock(ctx, b.target()+".lock", func() { fmt.Fprintf(out, "waiting for another process that builds %s\n", b.name) })
	if err != nil {
		return fmt.Errorf("building %s: %w", b.name, err)
	}
	defer unlock()
	if executable(b.target()) == nil {
		return nil
	}
	fmt.Fprintf(out, "building %s %s from its Go module, once; this takes %s\n", b.name, b.version, b.takes)
	start := time.Now()
	if err := b.compile(ctx, filepath.Join(root, b.module)); err != nil {
		return fmt.Errorf("building %s %s: %w", b.name, b.version, err)
	}
	fmt.Fprintf(out, "built %s in %s\n", b.target(), time.Since(start).Round(time.Second))
	return nil
}

func (b build) compile(ctx context.Context, module string) error {
	partial := b.target() + ".partial"
	cmd := exec.CommandContext(ctx, "go", "build", "-mod=readonly", "-trimpath", "-ldflags", b.ldflags, "-o", partial, b.pkg)
	cmd.Dir = module
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s in %s: %w\n%s", strings.Join(cmd.Args[:2], " "), b.module, err, text)
	}
	return os.Rename(partial, b.target())
}

const lockPoll = 500 * time.Millisecond

// lock takes an exclusive lock on the file, which the kernel drops when the process ends. waiting is called once if another
// process has it.
func lock(ctx context.Context, path string, waiting func()) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("opening the lock file: %w", err)
	}
	tick := time.NewTicker(lockPoll)
	defer tick.Stop()
	for first := true; ; first = false {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { f.Close() }, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, errors.Join(fmt.Errorf("locking %s: %w", path, err), f.Close())
		}
		if first {
			waiting()
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(context.Cause(ctx), f.Close())
		case <-tick.C:
		}
	}
}
