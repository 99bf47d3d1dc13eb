package build

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"

	"github.com/Masterminds/semver/v3"
)

// ErrMissingTool says that a program is not installed. The message tells how to get it.
var ErrMissingTool = errors.New("a program is missing")

// tools are the programs of this computer that a build uses.
type tools struct {
	packer   string
	version  *semver.Version
	emulator string
	firmware string // the one that QEMU brings when empty
}

// emulators by the architecture of the image.
func emulator(architecture string) string {
	if architecture == "arm64" {
		return "qemu-system-aarch64"
	}
	return "qemu-system-x86_64"
}

// findTools looks for everything and tells of all that is missing at once.
func (p plan) findTools(ctx context.Context) (tools, error) {
	t := tools{}
	var errs []error
	find := func(why string, names ...string) string {
		for _, name := range names {
			if path, err := exec.LookPath(name); err == nil {
				return path
			}
		}
		errs = append(errs, fmt.Errorf("%w: %s (%s): %s", ErrMissingTool, strings.Join(names, " or "), why, hint(names[0], runtime.GOOS)))
		return ""
	}
	t.packer = find("runs the recipe", p.Packer)
	t.emulator = find("is the machine that the image is made in", emulator(p.Architecture))
	find("copies the base image for Packer", "qemu-img")
	if p.system.text["seed_kind"] == "cidata" {
		find("makes the disc with the key", "xorriso", "mkisofs", "hdiutil")
	}
	var err error
	if t.firmware, err = findFirmware(p.Architecture, p.value("firmware"), knownFirmware()); err != nil {
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return tools{}, err
	}
	return t, t.checkPacker(ctx)
}

// knownFirmware is where Debian, Red Hat, Fedora and Homebrew have the UEFI firmware of arm64.
func knownFirmware() []string {
	return []string{
		"/usr/share/qemu-efi-aarch64/QEMU_EFI.fd", "/usr/share/AAVMF/AAVMF_CODE.fd", "/usr/share/edk2/aarch64/QEMU_EFI.fd",
		"/opt/homebrew/share/qemu/edk2-aarch64-code.fd", "/usr/local/share/qemu/edk2-aarch64-code.fd",
	}
}

// findFirmware gives the path of the firmware: the one that is asked for, or for arm64 the first that is there.
func findFirmware(architecture, asked string, known []string) (string, error) {
	if asked != "" {
		if _, err := os.Stat(asked); err != nil {
			return "", fmt.Errorf("looking for the firmware: %w", err)
		}
		return filepath.Abs(asked)
	}
	if architecture != "arm64" {
		return "", nil
	}
	for _, path := range known {
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("%w: the UEFI firmware that %s boots by: apt-get install qemu-efi-aarch64, or --var firmware=PATH", ErrMissingTool, architecture)
}

// hint says how to install a program.
func hint(name, system string) string {
	packages := map[string]string{
		"qemu-system-x86_64": "qemu-system-x86", "qemu-system-aarch64": "qemu-system-arm", "qemu-img": "qemu-utils",
	}
	if system == "darwin" {
		switch {
		case strings.HasPrefix(name, "qemu"):
			return "brew install qemu"
		case name == "packer":
			return "brew tap hashicorp/tap && brew install hashicorp/tap/packer"
		}
		return "brew install " + name
	}
	if known, found := packages[name]; found {
		name = known
	}
	if strings.Contains(name, "/") {
		return "there is no such program"
	}
	return "apt-get install " + name + " (dnf has it under a similar name)"
}

var packerVersion = regexp.MustCompile(`Packer v(\d+\.\d+\.\d+)`)

// minPacker is the oldest Packer that knows what the recipes use; pluggedPacker the first that brings no builder of its own.
const minPacker, pluggedPacker = "1.6.6", "1.10.0"

// plugged says that this Packer needs the plugin qemu.
func (t tools) plugged() bool { return !t.version.LessThan(semver.MustParse(pluggedPacker)) }

func (t *tools) checkPacker(ctx context.Context) error {
	out, err := packerCommand(ctx, t.packer, "version").CombinedOutput()
	if err != nil {
		return fmt.Errorf("asking %s for its version: %w\n%s", t.packer, err, out)
	}
	found := packerVersion.FindSubmatch(out)
	if found == nil {
		return fmt.Errorf("%s does not say which version it is; it said %q", t.packer, firstLine(out))
	}
	if t.version, err = semver.NewVersion(string(found[1])); err != nil {
		return err
	}
	if t.version.LessThan(semver.MustParse(minPacker)) {
		return fmt.Errorf("%w: Packer %s or newer; %s is %s", ErrMissingTool, minPacker, t.packer, t.version)
	}
	if !t.plugged() {
		return nil
	}
	out, err = packerCommand(ctx, t.packer, "plugins", "installed").CombinedOutput()
	if err != nil {
		return fmt.Errorf("asking %s for its plugins: %w\n%s", t.packer, err, out)
	}
	if !strings.Contains(string(out), "packer-plugin-qemu") {
		return fmt.Errorf("%w: Packer's plugin qemu: packer plugins install github.com/hashicorp/qemu", ErrMissingTool)
	}
	return nil
}

func firstLine(text []byte) string {
	line, _, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
	return line
}
