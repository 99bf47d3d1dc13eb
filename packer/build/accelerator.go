package build

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"time"

	"github.com/capcat/capcat/imagecatalog/artifact"
)

// probeTime is how long a kernel may take to come up with the help of the hardware. It takes three to ten seconds; a boot menu
// may wait as long again.
const probeTime = 45 * time.Second

// ErrNoAccelerator says that the accelerator that was asked for does not work here.
var ErrNoAccelerator = errors.New("the accelerator does not work on this computer")

// userSpace is what a Linux kernel or its first program says once the kernel is through.
var userSpace = regexp.MustCompile(`Run /init as init process|Freeing unused kernel|systemd\[1\]: |Welcome to |login: `)

// accelerate finds the accelerator. The device of KVM may be there without a processor behind it that can do it, and the
// firmware may come up where a kernel then hangs. So the base image itself is booted, and only its kernel's word counts.
func (p plan) accelerate(ctx context.Context, t tools, base string) (string, error) {
	candidate := p.Accelerator
	if candidate == Auto {
		candidate = native(p.Architecture)
	}
	if candidate == "tcg" {
		return candidate, nil
	}
	err := probe(ctx, t, candidate, p.Architecture, base)
	switch {
	case err == nil:
		return candidate, nil
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case p.Accelerator != Auto:
		return "", fmt.Errorf("%s: %w: %w; --accelerator tcg emulates the processor, which takes about five times as long", candidate, ErrNoAccelerator, err)
	}
	p.Report(Event{Note: fmt.Sprintf("%s does not work here (%v); the processor is emulated, which is slow", candidate, err)})
	return "tcg", nil
}

// native is the accelerator that this computer would have for the architecture.
func native(architecture string) string {
	if runtime.GOARCH != architecture {
		return "tcg"
	}
	switch runtime.GOOS {
	case "linux":
		return "kvm"
	case "darwin":
		return "hvf"
	}
	return "tcg"
}

func probe(ctx context.Context, t tools, accelerator, architecture, base string) error {
	if accelerator == "kvm" {
		f, err := os.OpenFile("/dev/kvm", os.O_RDWR, 0)
		if err != nil {
			return err
		}
		if err := f.Close(); err != nil {
			return err
		}
	}
	format, err := sniff(base)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, probeTime, fmt.Errorf("no kernel came up within %s", probeTime))
	defer cancel()
	machine := "pc"
	if architecture == "arm64" {
		machine = "virt"
	}
	cmd := exec.CommandContext(ctx, t.emulator, "-machine", machine, "-accel", accelerator, "-cpu", "host", "-m", "1024", "-nodefaults", "-display", "none",
		"-no-reboot", "-serial", "stdio", "-drive", "if=virtio,snapshot=on,format="+format+",file="+escape(base))
	if t.firmware != "" {
		cmd.Args = append(cmd.Args, "-bios", t.firmware)
	}
	return waitForKernel(ctx, cmd)
}

// waitForKernel runs the machine until its kernel has come up.
func waitForKernel(ctx context.Context, cmd *exec.Cmd) error {
	read, write := io.Pipe()
	cmd.Stdout, cmd.Stderr = write, write
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() {
		err := cmd.Wait()
		ended <- err
		write.Close() // it always succeeds
	}()
	last := ""
	for scan := bufio.NewScanner(read); scan.Scan(); {
		if userSpace.Match(scan.Bytes()) {
			_ = cmd.Process.Kill()           // it may have ended by itself
			_, _ = io.Copy(io.Discard, read) // until the process has ended
			return nil
		}
		if scan.Text() != "" {
			last = scan.Text()
		}
	}
	_ = cmd.Process.Kill()
	_, _ = io.Copy(io.Discard, read)
	err := <-ended
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return fmt.Errorf("the machine ended without a kernel (%w), its last words: %.200q", errors.Join(err, errNoKernel), last)
}

var errNoKernel = errors.New("no kernel came up")

// sniff tells QEMU's name of the format.
func sniff(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	head := make([]byte, 4)
	if _, err := io.ReadFull(f, head); err != nil {
		return "", fmt.Errorf("reading the base image: %w", err)
	}
	if string(head) == "QFI\xfb" {
		return artifact.QCOW2.Suffix(), nil
	}
	return artifact.RAW.Suffix(), nil
}

// escape doubles the commas of a value in QEMU's lists of options.
func escape(value string) string {
	return strings.ReplaceAll(value, ",", ",,")
}
