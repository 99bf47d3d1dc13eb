package build

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/capcat/capcat/packer"
)

// DefaultMinFreeBytes is the free space a build asks for: the base image, the disk of the machine and every output.
const DefaultMinFreeBytes = 10 << 30

// Outputs lists what a build can make, by the suffixes of the files.
func Outputs() []string { return []string{"qcow2", "qcow2.bz2", "ova", "vhd", "vhd.bz2"} }

// Accelerators lists what may be asked for.
func Accelerators() []string { return []string{Auto, "kvm", "hvf", "tcg"} }

// Auto lets the build find out what works.
const Auto = "auto"

// Options say what to build.
type Options struct {
	// OS is the name of a folder below os in the recipes.
	OS string
	// KubernetesVersion is a version that the recipes pin, with its v; the newest of all when empty.
	KubernetesVersion string
	// Architecture is amd64 or arm64; amd64 when empty.
	Architecture string
	// Dir is where the files go; made if it does not exist.
	Dir string
	// Name is the begin of all file names; made from system, version and architecture when empty.
	Name string
	// Outputs are the files to make, by their suffixes; all when empty.
	Outputs []string
	// BaseURL is the address of the folder from which the files will be served, for the entry.
	BaseURL string
	// Catalog is a file with a TemplateCatalog that the entry is appended to; "" for none.
	Catalog string
	// PackagesFrom is the address of a mirror for everything that comes from the internet; "" for the internet.
	PackagesFrom string
	// BaseImage is the path or address of the disk to begin with; that of the recipe when empty.
	BaseImage string
	// BaseChecksum proves BaseImage: algorithm:hex or the address of a checksum file. An address needs one.
	BaseChecksum string
	// Accelerator is one of Accelerators; Auto when empty.
	Accelerator string
	// Variables are further variables of the recipes.
	Variables map[string]string
	// Recipes is the folder of recipes; those of the program when nil.
	Recipes fs.FS
	// Cache keeps base images.
	Cache string
	// Packer is the program; "packer" in the path when empty.
	Packer string
	// MinFreeBytes is the free space asked for; DefaultMinFreeBytes when 0.
	MinFreeBytes int64
	// Created is the date of all that is made. Without it images bear the fixed dates of their formats, and the bill of materials
	// that of the build. The same disk and date give the same bytes.
	Created time.Time
	// Report is told what happens; it may be nil, and is called by one goroutine at a time.
	Report func(Event)
}

// Event is a piece of news.
type Event struct {
	// Step is set when a step begins: one word or two.
	Step string
	// Note is a remark within a step.
	Note string
}

// namePattern is what an appliance may be called too; its members' names become a little longer, and a header of tar holds 100.
var namePattern = regexp.MustCompile(`^[A-Za-z0-9]([-A-Za-z0-9._]{0,78}[A-Za-z0-9])?$`)

func (o Options) withDefaults() Options {
	if o.Architecture == "" {
		o.Architecture = "amd64"
	}
	if o.Accelerator == "" {
		o.Accelerator = Auto
	}
	if len(o.Outputs) == 0 {
		o.Outputs = Outputs()
	}
	var once []string
	for _, suffix := range o.Outputs {
		if !slices.Contains(once, suffix) {
			once = append(once, suffix)
		}
	}
	o.Outputs = once
	if o.Recipes == nil {
		o.Recipes = packer.Recipes()
	}
	if o.Packer == "" {
		o.Packer = "packer"
	}
	if o.MinFreeBytes == 0 {
		o.MinFreeBytes = DefaultMinFreeBytes
	}
	if o.Report == nil {
		o.Report = func(Event) {}
	}
	o.BaseURL = strings.TrimRight(o.BaseURL, "/")
	o.PackagesFrom = strings.TrimRight(o.PackagesFrom, "/")
	return o
}

// validate checks what can be checked without looking at anything.
func (o Options) validate() error {
	var errs []error
	if o.Dir == "" {
		errs = append(errs, errors.New("no folder for the files is given"))
	}
	if !slices.Contains([]string{"amd64", "arm64"}, o.Architecture) {
		errs = append(errs, fmt.Errorf("architecture %q is neither amd64 nor arm64", o.Architecture))
	}
	if !slices.Contains(Accelerators(), o.Accelerator) {
		errs = append(errs, fmt.Errorf("accelerator %q is none of %s", o.Accelerator, strings.Join(Accelerators(), ", ")))
	}
	for _, suffix := range o.Outputs {
		if !slices.Contains(Outputs(), suffix) {
			errs = append(errs, fmt.Errorf("output %q is none of %s", suffix, strings.Join(Outputs(), ", ")))
		}
	}
	if o.Name != "" && !namePattern.MatchString(o.Name) {
		errs = append(errs, fmt.Errorf("the name %q is no plain file name of up to 80 letters, digits, dots, underscores and hyphens", o.Name))
	}
	for _, name := range []string{
		"kubernetes_version", "architecture", "accelerator", "packages_from", "os_name", "base_image", "base_checksum", "ssh_key", "seed", "output",
	} {
		if _, set := o.Variables[name]; set {
			errs = append(errs, fmt.Errorf("the variable %s is set by the build itself", name))
		}
	}
	for what, address := range map[string]string{"the base URL": o.BaseURL, "the mirror": o.PackagesFrom} {
		if address != "" {
			errs = append(errs, webAddress(what, address))
		}
	}
	if o.Catalog != "" {
		if _, err := os.Stat(o.Catalog); err != nil {
			errs = append(errs, fmt.Errorf("looking for the catalog: %w", err))
		}
	}
	return errors.Join(errs...)
}

func webAddress(what, address string) error {
	u, err := url.Parse(address)
	if err != nil {
		return fmt.Errorf("%s is no address", what)
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return fmt.Errorf("%s %q is no http or https address", what, u.Redacted())
	}
	if u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return fmt.Errorf("%s may have no user, query or fragment", what)
	}
	return nil
}

// file is the path of an output.
func (p plan) file(suffix string) string { return filepath.Join(p.Dir, p.Name+"."+suffix) }
