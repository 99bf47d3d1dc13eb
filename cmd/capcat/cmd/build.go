package cmd

import (
	"context"
	_ "embed" // the help of build
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/utils/clock"

	"github.com/capcat/capcat/packer"
	"github.com/capcat/capcat/packer/build"
)

//go:embed build.md
var buildHelp string

// buildFlags are the flags of build as they were typed.
type buildFlags struct {
	options build.Options
	recipes string
	minFree int64
	list    bool
}

func newBuild(stdout, stderr io.Writer) *cobra.Command {
	f := buildFlags{minFree: build.DefaultMinFreeBytes}
	c := &cobra.Command{
		Use:   "build OS",
		Short: "Make a node image with Packer, and the entry for a catalog",
		Long:  buildHelp,
		Args:  cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return f.run(c.Context(), args, stdout, newSteps(stderr, clock.RealClock{}))
		},
	}
	o, flags := &f.options, c.Flags()
	flags.StringVar(&o.KubernetesVersion, "kubernetes-version", "", "version of Kubernetes, such as v1.36.3 (default: the newest that the recipes pin)")
	flags.StringVar(&o.Architecture, "arch", "amd64", "architecture of the image: amd64 or arm64")
	flags.StringVar(&o.Dir, "dir", ".", "folder for the files")
	flags.StringVar(&o.Name, "name", "", "begin of the names of the files (default: OS-kube-VERSION)")
	flags.StringSliceVar(&o.Outputs, "output", nil, "files to make: "+strings.Join(build.Outputs(), ", ")+" (default: all)")
	flags.StringVar(&o.BaseURL, "base-url", "", "address of the folder that the files will be served from, for the entry")
	flags.StringVar(&o.Catalog, "catalog", "", "file with a TemplateCatalog that the entry is appended to")
	flags.StringVar(&o.PackagesFrom, "packages-from", "", "address of a mirror for everything that would come from the internet")
	flags.StringVar(&o.BaseImage, "base-image", "", "path or address of the disk to begin with (default: the one of the recipe)")
	flags.StringVar(&o.BaseChecksum, "base-checksum", "", "what proves the base image: algorithm:hex, or the address of a checksum file")
	flags.StringVar(&o.Accelerator, "accelerator", build.Auto, strings.Join(build.Accelerators(), ", "))
	flags.StringToStringVar(&o.Variables, "var", nil, "variable of the recipe, as NAME=VALUE; may be repeated")
	flags.StringVar(&f.recipes, "recipes", "", "folder of recipes (default: those inside this program)")
	flags.StringVar(&o.Packer, "packer", "packer", "the program Packer")
	flags.StringVar(&o.Cache, "cache", "", "folder that keeps base images (default: capcat in the user's cache folder)")
	flags.Var((*quantity)(&f.minFree), "min-free", "free space that the build asks for, as 10Gi or in bytes")
	flags.BoolVar(&f.list, "list", false, "list operating systems and versions, and build nothing")
	return c
}

func (f buildFlags) run(ctx context.Context, args []string, stdout io.Writer, steps *steps) error {
	o := f.options
	o.Recipes, o.MinFreeBytes, o.Report = packer.Recipes(), f.minFree, steps.report
	if f.recipes != "" {
		o.Recipes = os.DirFS(f.recipes)
	}
	if f.list {
		return listRecipes(o.Recipes, stdout)
	}
	if len(args) == 0 {
		return errors.New("build needs the name of an operating system; capcat build --list shows them")
	}
	o.OS = args[0]
	if o.Cache == "" {
		dir, err := os.UserCacheDir()
		if err != nil {
			return fmt.Errorf("finding the cache folder (give --cache): %w", err)
		}
		o.Cache = filepath.Join(dir, "capcat")
	}
	var err error
	if o.Created, err = sourceDate(); err != nil {
		return err
	}
	result, err := build.Build(ctx, o)
	steps.done(err)
	if result.EntryPath != "" {
		printBuild(stdout, result)
	}
	return err
}

// dateEnv is where reproducible builds look for the date, in seconds since 1970.
const dateEnv = "SOURCE_DATE_EPOCH"

// sourceDate is the date to write, zero when none is given.
func sourceDate() (time.Time, error) {
	text := os.Getenv(dateEnv)
	if text == "" {
		return time.Time{}, nil
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	// A VHD can say no date outside these years.
	date := time.Unix(seconds, 0).UTC()
	if err != nil || date.Year() < 2000 || date.Year() > 2135 {
		return time.Time{}, fmt.Errorf("$%s is the number of seconds since 1970 of a date between 2000 and 2135, not %.40q", dateEnv, text)
	}
	return date, nil
}

func listRecipes(recipes fs.FS, stdout io.Writer) error {
	systems, err := build.Systems(recipes)
	if err != nil {
		return err
	}
	releases, err := build.Releases(recipes)
	if err != nil {
		return err
	}
	fmt.Fprintln(stdout, "operating systems:")
	for _, s := range systems {
		fmt.Fprintln(stdout, "  "+s)
	}
	fmt.Fprintln(stdout, "Kubernetes:")
	for _, r := range releases {
		fmt.Fprintln(stdout, "  "+r.Version)
	}
	return nil
}

func printBuild(w io.Writer, r build.Result) {
	fmt.Fprintf(w, "%s\nfiles in %s:\n", r.Entry.Text, r.Dir)
	for _, image := range r.Images {
		fmt.Fprintf(w, "  %-44s %7.1f MB  %s\n", filepath.Base(image.Path), float64(image.Bytes)/1e6, image.SHA256)
	}
	for _, path := range []string{r.SBOM, r.EntryPath, r.Log} {
		fmt.Fprintf(w, "  %s\n", filepath.Base(path))
	}
}

// steps shows how a build goes on: one line a step, with the time that the one before took.
type steps struct {
	out   io.Writer
	clock clock.PassiveClock
	name  string
	since time.Time
	start time.Time
}

func newSteps(out io.Writer, clock clock.PassiveClock) *steps {
	return &steps{out: out, clock: clock, start: clock.Now()}
}

func (s *steps) report(e build.Event) {
	if e.Note != "" {
		fmt.Fprintf(s.out, "    %s\n", e.Note)
		return
	}
	s.end()
	s.name, s.since = e.Step, s.clock.Now()
	fmt.Fprintf(s.out, "==> %s\n", e.Step)
}

// end says how long the last step took, if that is worth a line.
func (s *steps) end() {
	if took := s.clock.Since(s.since).Round(time.Second); s.name != "" && took > 0 {
		fmt.Fprintf(s.out, "    %s: %s\n", s.name, took)
	}
}

func (s *steps) done(err error) {
	s.end()
	word := "done"
	if err != nil {
		word = "failed"
	}
	fmt.Fprintf(s.out, "==> %s after %s\n", word, s.clock.Since(s.start).Round(time.Second))
}
