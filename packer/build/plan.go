package build

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
)

// ErrUnknown says that the recipes have no such system, version or variable.
var ErrUnknown = errors.New("the recipes have none")

// plan is what a build will do, decided before anything is touched.
type plan struct {
	Options
	pins, system settings
	pinsFile     string // the file of pins, below the recipes
	systemFile   string
}

// newPlan reads the recipes.
func newPlan(o Options) (plan, error) {
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return plan{}, err
	}
	p := plan{Options: o, systemFile: path.Join("os", o.OS, "os.pkrvars.hcl")}
	var err error
	if p.system, err = readSettings(o.Recipes, p.systemFile); err != nil {
		systems, _ := Systems(o.Recipes)
		if len(systems) == 0 {
			return plan{}, fmt.Errorf("operating system %q: %w: there is no file os/<name>/os.pkrvars.hcl", o.OS, ErrUnknown)
		}
		if errors.Is(err, fs.ErrNotExist) || !fs.ValidPath(p.systemFile) {
			return plan{}, fmt.Errorf("operating system %q: %w; there are %s", o.OS, ErrUnknown, strings.Join(systems, ", "))
		}
		return plan{}, err
	}
	if err := p.pin(); err != nil {
		return plan{}, err
	}
	if err := p.checkVariables(); err != nil {
		return plan{}, err
	}
	if _, err := p.diskMiB(); err != nil {
		return plan{}, err
	}
	if p.Name == "" {
		p.Name = p.OS + "-kube-" + p.KubernetesVersion
		if p.Architecture != "amd64" {
			p.Name += "-" + p.Architecture
		}
	}
	if p.Dir, err = filepath.Abs(p.Dir); err != nil {
		return plan{}, err
	}
	if strings.Contains(p.Dir, ",") {
		return plan{}, fmt.Errorf("the path %s holds a comma, which QEMU takes for the end of it: give another --dir", p.Dir)
	}
	return p, p.checkEntry()
}

// pin finds the file of pins that has the version.
func (p *plan) pin() error {
	all, err := Releases(p.Recipes)
	if err != nil {
		return err
	}
	if p.KubernetesVersion == "" && len(all) > 0 {
		p.KubernetesVersion = all[0].Version
	}
	for _, r := range all {
		if r.Version == p.KubernetesVersion {
			p.pinsFile = r.File
			p.pins, err = readSettings(p.Recipes, r.File)
			return err
		}
	}
	versions := make([]string, len(all))
	for i, r := range all {
		versions[i] = r.Version
	}
	return fmt.Errorf("Kubernetes %q: %w; there are %s. A patch release is one line more in kubernetes/<minor>.pkrvars.hcl, "+ //nolint:staticcheck // a name
		"in a folder given with --recipes", p.KubernetesVersion, ErrUnknown, strings.Join(versions, ", "))
}

var declaration = regexp.MustCompile(`(?m)^variable "(\w+)"`)

// checkVariables makes sure that the recipes have what is to be set.
func (p *plan) checkVariables() error {
	files, err := fs.Glob(p.Recipes, "*.pkr.hcl")
	if err != nil {
		return err
	}
	var known []string
	for _, file := range files {
		text, err := fs.ReadFile(p.Recipes, file)
		if err != nil {
			return fmt.Errorf("reading the recipe: %w", err)
		}
		for _, found := range declaration.FindAllSubmatch(text, -1) {
			known = append(known, string(found[1]))
		}
	}
	slices.Sort(known)
	for _, name := range sortedKeys(p.Variables) {
		if !slices.Contains(known, name) {
			return fmt.Errorf("variable %q: %w; there are %s", name, ErrUnknown, strings.Join(known, ", "))
		}
	}
	return nil
}

// Release is a version that the recipes pin.
type Release struct {
	// Version of Kubernetes, with its v.
	Version string
	// File that pins it, below the recipes.
	File string
}

// Releases lists the pinned versions, the newest first.
func Releases(recipes fs.FS) ([]Release, error) {
	files, err := fs.Glob(recipes, "kubernetes/*.pkrvars.hcl")
	if err != nil {
		return nil, err
	}
	var all []Release
	parsed := map[string]*semver.Version{}
	for _, file := range files {
		s, err := readSettings(recipes, file)
		if err != nil {
			return nil, err
		}
		minor := strings.TrimSuffix(path.Base(file), ".pkrvars.hcl")
		for _, version := range s.list["kubernetes_releases"] {
			v, err := semver.StrictNewVersion(strings.TrimPrefix(version, "v"))
			if err != nil || !strings.HasPrefix(version, minor+".") {
				return nil, fmt.Errorf("%s: %q is no release of %s", file, version, minor)
			}
			parsed[version] = v
			all = append(all, Release{Version: version, File: file})
		}
	}
	slices.SortStableFunc(all, func(a, b Release) int { return parsed[b.Version].Compare(parsed[a.Version]) })
	return all, nil
}

// Systems lists the operating systems of the recipes.
func Systems(recipes fs.FS) ([]string, error) {
	files, err := fs.Glob(recipes, "os/*/os.pkrvars.hcl")
	if err != nil {
		return nil, err
	}
	names := make([]string, len(files))
	for i, file := range files {
		names[i] = path.Base(path.Dir(file))
	}
	slices.Sort(names)
	return names, nil
}

func readSettings(recipes fs.FS, file string) (settings, error) {
	f, err := recipes.Open(file)
	if err != nil {
		return settings{}, fmt.Errorf("reading the recipe: %w", err)
	}
	defer f.Close()
	s, err := parseSettings(f)
	if err != nil {
		return settings{}, fmt.Errorf("reading %s: %w", file, err)
	}
	return s, nil
}

// value is a variable as Packer will see it: what was asked for, else what the system says, else the pin.
func (p plan) value(name string) string {
	if v, ok := p.Variables[name]; ok {
		return v
	}
	return cmp.Or(p.system.text[name], p.pins.text[name])
}
