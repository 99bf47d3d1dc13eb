// Command validate has Packer check every recipe: each operating system with each file of pins, and the form of every file.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"github.com/Masterminds/semver/v3"

	"github.com/capcat/capcat/packer"
)

func main() {
	program := flag.String("packer", "packer", "the program Packer")
	shellcheck := flag.String("shellcheck", "shellcheck", "the program that checks shell; empty for none")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *program, *shellcheck, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "packer-validate:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, program, shellcheck string, out io.Writer) (err error) {
	path, err := exec.LookPath(program)
	if err != nil {
		return fmt.Errorf("there is no Packer: apt-get install packer, or give PACKER=/path/to/packer: %w", err)
	}
	dir, err := os.MkdirTemp("", "capcat-validate-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	v := validator{packer: path, dir: dir, out: out}
	if err := v.layOut(ctx); err != nil {
		return err
	}
	if err := errors.Join(v.form(ctx), v.recipes(ctx)); err != nil {
		return err
	}
	if shellcheck == "" {
		return nil
	}
	return v.shell(ctx, shellcheck)
}

type validator struct {
	packer, dir string
	out         io.Writer
}

var versionLine = regexp.MustCompile(`Packer v(\d+\.\d+\.\d+)`)

// layOut copies the recipes. Packer before 1.7 refuses the list of plugins, and before 1.10 has the builder built in.
func (v validator) layOut(ctx context.Context) error {
	text, err := v.run(ctx, "version")
	if err != nil {
		return err
	}
	found := versionLine.FindStringSubmatch(text)
	if found == nil {
		return fmt.Errorf("%s does not say its version: %q", v.packer, text)
	}
	version, err := semver.NewVersion(found[1])
	if err != nil {
		return err
	}
	fmt.Fprintf(v.out, "Packer %s\n", version)
	if err := os.CopyFS(v.dir, packer.Recipes()); err != nil {
		return err
	}
	if version.LessThan(semver.MustParse("1.10.0")) {
		return os.Remove(filepath.Join(v.dir, "plugins.pkr.hcl"))
	}
	return nil
}

// form checks that every file looks as "packer fmt" writes it.
func (v validator) form(ctx context.Context) error {
	var errs []error
	walk := filepath.WalkDir(v.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		if files, _ := filepath.Glob(filepath.Join(path, "*.hcl")); len(files) == 0 {
			return nil
		}
		if text, err := v.run(ctx, "fmt", "-check", "-diff", path); err != nil {
			errs = append(errs, fmt.Errorf("packer fmt would change something in %s:\n%s", strings.TrimPrefix(path, v.dir), text))
		}
		return nil
	})
	return errors.Join(append(errs, walk)...)
}

// recipes validates each operating system with each file of pins.
func (v validator) recipes(ctx context.Context) error {
	systems, err := filepath.Glob(filepath.Join(v.dir, "os", "*", "os.pkrvars.hcl"))
	if err != nil {
		return err
	}
	pins, err := filepath.Glob(filepath.Join(v.dir, "kubernetes", "*.pkrvars.hcl"))
	if err != nil {
		return err
	}
	if len(systems) == 0 || len(pins) == 0 {
		return errors.New("there are no recipes")
	}
	var errs []error
	for _, system := range systems {
		for _, pin := range pins {
			name := filepath.Base(filepath.Dir(system)) + " with " + strings.TrimSuffix(filepath.Base(pin), ".pkrvars.hcl")
			text, err := v.run(ctx, "validate", "-var", "base_checksum=sha256:"+strings.Repeat("0", 64), "-var-file="+pin, "-var-file="+system, v.dir)
			if err != nil {
				errs = append(errs, fmt.Errorf("%s: %w\n%s", name, err, text))
				continue
			}
			fmt.Fprintf(v.out, "ok  %s\n", name)
		}
	}
	return errors.Join(errs...)
}

// shell checks the steps with shellcheck, when it is installed.
func (v validator) shell(ctx context.Context, program string) error {
	path, err := exec.LookPath(program)
	if errors.Is(err, exec.ErrNotFound) {
		fmt.Fprintln(v.out, "the steps are not checked: apt-get install shellcheck")
		return nil
	}
	if err != nil {
		return err
	}
	scripts, err := filepath.Glob(filepath.Join("packer", "*", "*.sh"))
	if err != nil || len(scripts) == 0 {
		return errors.Join(err, errors.New("there are no steps: run this at the top of the repository"))
	}
	cmd := exec.CommandContext(ctx, path, slices.Concat([]string{"--external-sources"}, scripts)...)
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("shellcheck: %w\n%s", err, text)
	}
	fmt.Fprintf(v.out, "ok  %d files of shell\n", len(scripts))
	return nil
}

func (v validator) run(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, v.packer, args...)
	cmd.Env = append(os.Environ(), "CHECKPOINT_DISABLE=1", "PACKER_NO_COLOR=1")
	text, err := cmd.CombinedOutput()
	return string(text), err
}
