package build

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/capcat/capcat/imagecatalog/artifact"
)

// patience is how long Packer may take to put its machine away after it was told to stop.
const patience = time.Minute

// machine is the run of Packer: a disk image goes in, another comes out.
type machine struct {
	plan
	tools       tools
	dir         string // scratch
	base        string
	digest      artifact.Digest
	accelerator string
	log         io.Writer
	guard       *guard
}

// built are the files of a run.
type built struct {
	disk, contents, console string
}

func (m machine) run(ctx context.Context) (built, error) {
	recipes := filepath.Join(m.dir, "recipes")
	if err := m.copyRecipes(recipes); err != nil {
		return built{}, fmt.Errorf("writing the recipes: %w", err)
	}
	seed := filepath.Join(m.dir, "seed")
	key, err := writeSeed(seed, m.system.text["seed_kind"], m.value("login"))
	if err != nil {
		return built{}, fmt.Errorf("writing the key: %w", err)
	}
	output := filepath.Join(m.dir, "machine")
	out := built{disk: filepath.Join(output, "node.qcow2"), contents: output + ".contents.tsv", console: output + ".console.log"}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	look := time.NewTicker(spaceInterval)
	defer look.Stop()
	go watchSpace(ctx, look.C, func() (int64, error) { return freeBytes(m.dir) }, stop)
	cmd := packerCommand(ctx, m.tools.packer, slices.Concat([]string{"build", "-color=false", "-only=qemu.node"}, m.arguments(recipes, key, seed, output), []string{recipes})...)
	cmd.Env = append(cmd.Env, "PACKER_CACHE_DIR="+filepath.Join(m.dir, "cache"), "TMPDIR="+m.dir, "PACKER_LOG=1", "PACKER_LOG_PATH="+m.packerLog())
	return out, m.follow(ctx, cmd, out.console)
}

// follow runs Packer, keeps what it says and reports what matters of it.
func (m machine) follow(ctx context.Context, cmd *exec.Cmd, console string) error {
	watch := &listener{report: m.Report}
	cmd.Stdout = io.MultiWriter(m.log, watch)
	cmd.Stderr = cmd.Stdout
	err := m.runGuarded(cmd)
	if err == nil {
		return nil
	}
	if killed := endGroup(cmd); killed != nil {
		m.Report(Event{Note: fmt.Sprintf("something of Packer may still run: %v", killed)})
	}
	m.keepConsole(console)
	if ctx.Err() != nil {
		return fmt.Errorf("stopped: %w", context.Cause(ctx))
	}
	watch.qemu = m.complaints()
	return watch.explain(err)
}

// packerLog is where Packer writes what it does not say.
func (m machine) packerLog() string { return filepath.Join(m.dir, "packer.log") }

// complaints are what QEMU said before it ended, which stands in Packer's own log alone.
func (m machine) complaints() []string {
	const most = 5
	f, err := os.Open(m.packerLog())
	if err != nil {
		return nil // Packer did not come so far
	}
	defer f.Close()
	var all []string
	for scan := bufio.NewScanner(f); scan.Scan() && len(all) < most; {
		if _, words, found := strings.Cut(scan.Text(), "Qemu stderr: "); found && strings.TrimSpace(words) != "" && !strings.Contains(words, "terminating on signal") {
			all = append(all, strings.TrimSpace(words))
			fmt.Fprintln(m.log, "QEMU: "+strings.TrimSpace(words))
		}
	}
	return all
}

// runGuarded runs a program that ends with this one.
func (m machine) runGuarded(cmd *exec.Cmd) error {
	if err := cmd.Start(); err != nil {
		return err
	}
	watched := m.guard.watch(cmd.Process.Pid)
	err := cmd.Wait()
	return errors.Join(err, watched, m.guard.watch(0))
}

// keepConsole adds the end of what the machine wrote on its console to the log.
func (m machine) keepConsole(path string) {
	const most = 64 << 10
	text, err := os.ReadFile(path)
	if err != nil {
		return // it never ran
	}
	fmt.Fprintf(m.log, "\n--- console of the machine ---\n%s\n", text[max(0, len(text)-most):])
}

// arguments are the variables, in the order of their weight.
func (m machine) arguments(recipes, key, seed, output string) []string {
	args := []string{"-var-file=" + filepath.Join(recipes, m.pinsFile), "-var-file=" + filepath.Join(recipes, m.systemFile)}
	set := map[string]string{
		"kubernetes_version": m.KubernetesVersion, "architecture": m.Architecture, "accelerator": m.accelerator,
		"base_image": m.base, "base_checksum": m.digest.String(), "ssh_key": key, "seed": seed, "output": output,
	}
	if m.PackagesFrom != "" {
		set["packages_from"] = seenByGuest(m.PackagesFrom)
		set["image_source"] = "archive"
	}
	for name, value := range m.Variables {
		set[name] = value
	}
	if m.tools.firmware != "" {
		set["firmware"] = m.tools.firmware
	}
	for _, name := range sortedKeys(set) {
		args = append(args, "-var", name+"="+set[name])
	}
	return args
}

func (m machine) copyRecipes(dir string) error {
	return fs.WalkDir(m.Recipes, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		// Packer before 1.7 refuses the list of plugins, and before 1.10 needs none.
		if path == "plugins.pkr.hcl" && !m.tools.plugged() {
			return nil
		}
		target := filepath.Join(dir, path)
		if d.IsDir() {
			return os.MkdirAll(target, 0o755)
		}
		text, err := fs.ReadFile(m.Recipes, path)
		if err != nil {
			return err
		}
		return os.WriteFile(target, text, 0o644)
	})
}

// packerCommand runs Packer without calls home. It is asked to stop, not killed, so that it puts its machine away.
func packerCommand(ctx context.Context, path string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = append(os.Environ(), "CHECKPOINT_DISABLE=1", "PACKER_NO_COLOR=1")
	asGroup(cmd)
	cmd.WaitDelay = patience
	return cmd
}
