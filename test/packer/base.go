package packer

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/capcat/capcat/test/controlplane"
)

// Base is a disk made of Debian packages, and the packages that the recipe will install.
type Base struct {
	Disk, Packages string
}

// suites are the systems that can be made of packages alone, with Debian's names for them.
var suites = map[string]string{"debian-12": "bookworm", "debian-13": "trixie"}

// Systems are the names of these systems.
func Systems() []string { return slices.Sorted(maps.Keys(suites)) }

// ErrMissing says that a program is not installed.
var ErrMissing = errors.New("a program is missing")

// CheckTools looks for all programs and says how to get those that are missing.
func CheckTools() error {
	var errs []error
	for _, t := range []struct{ name, from string }{
		{"packer", "packer"}, {"qemu-system-x86_64", "qemu-system-x86"}, {"qemu-img", "qemu-utils"}, {"mmdebstrap", "mmdebstrap"},
		{"xorriso", "xorriso"}, {"mke2fs", "e2fsprogs"}, {"sfdisk", "fdisk"}, {"grub-mkimage", "grub-common"}, {"dpkg-scanpackages", "dpkg-dev"}, {"ip", "iproute2"},
	} {
		_, err := exec.LookPath(t.name)
		if _, hidden := os.Stat("/usr/sbin/" + t.name); err != nil && hidden != nil {
			errs = append(errs, fmt.Errorf("%w: %s: apt-get install --no-install-recommends %s", ErrMissing, t.name, t.from))
		}
	}
	return errors.Join(errs...)
}

// MakeBase makes the base for a system unless the cache has one of the same recipe. It fetches from the Debian mirror in
// $CAPCAT_DEBIAN_MIRROR, or from deb.debian.org, and takes two minutes on two idle cores.
func MakeBase(ctx context.Context, out io.Writer, system string) (Base, error) {
	root, err := controlplane.Root()
	if err != nil {
		return Base{}, err
	}
	cache, err := controlplane.CacheDir()
	if err != nil {
		return Base{}, err
	}
	script := filepath.Join(root, "packer", "base", "debian.sh")
	wanted, err := os.ReadFile(filepath.Join(root, "packer", "os", system, "packages"))
	if err != nil {
		return Base{}, err
	}
	text, err := os.ReadFile(script)
	if err != nil {
		return Base{}, err
	}
	sum := sha256.Sum256(append(text, wanted...))
	dir := filepath.Join(cache, "base-"+system+"-"+hex.EncodeToString(sum[:6]))
	b := Base{Disk: filepath.Join(dir, "base.qcow2"), Packages: filepath.Join(dir, "packages")}
	if _, err := os.Stat(b.Disk); err == nil {
		fmt.Fprintf(out, "the base image is in the cache: %s\n", b.Disk)
		return b, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return Base{}, err
	}
	args := []string{script, "-s", suites[system], "-o", b.Disk, "-d", b.Packages}
	if mirror := os.Getenv("CAPCAT_DEBIAN_MIRROR"); mirror != "" {
		args = append(args, "-m", mirror)
	}
	start := time.Now()
	cmd := exec.CommandContext(ctx, "sh", append(args, strings.Fields(string(wanted))...)...)
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Run(); err != nil {
		return Base{}, fmt.Errorf("making the base image: %w", err)
	}
	fmt.Fprintf(out, "made the base image in %s\n", time.Since(start).Round(time.Second))
	return b, nil
}
