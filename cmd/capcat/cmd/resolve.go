package cmd

import (
	_ "embed" // the help of resolve
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/imagecatalog"
)

//go:embed resolve.md
var resolveHelp string

// Exit codes of resolve, beside 0 for an image that was found and 1 for input that makes no sense.
const (
	exitNotFound  = 3
	exitAmbiguous = 4
)

// resolveFlags are the flags of resolve as they were typed.
type resolveFlags struct {
	file, version, os, arch, hypervisor, zone, image, at, output string
	newestBuild                                                  bool
}

func newResolve(stdout, _ io.Writer) *cobra.Command {
	var f resolveFlags
	c := &cobra.Command{
		Use:   "resolve -f CATALOG.yaml --version VERSION",
		Short: "Say which image of a catalog a Kubernetes version gets, and why",
		Long:  resolveHelp,
		Args:  cobra.NoArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return f.run(c.InOrStdin(), stdout) },
	}
	flags := c.Flags()
	flags.StringVarP(&f.file, "file", "f", "", "file with the TemplateCatalog; - reads the standard input")
	flags.StringVar(&f.version, "version", "", "Kubernetes version, such as v1.32.3")
	flags.StringVar(&f.os, "os", "", "operating system, such as ubuntu-24.04 (default any)")
	flags.StringVar(&f.arch, "arch", "", "architecture: x86_64 or aarch64 (default any)")
	flags.StringVar(&f.hypervisor, "hypervisor", "", "hypervisor: KVM, VMware or XenServer (default any)")
	flags.StringVar(&f.zone, "zone", "", "name or id of the zone (default any)")
	flags.StringVar(&f.image, "image", "", "name of the catalog's entry; previews are found only by it")
	flags.BoolVar(&f.newestBuild, "newest-build", false, "take the newest of several builds of a version")
	flags.StringVar(&f.at, "at", "", "time by which images expire, such as 2027-01-31T00:00:00Z (default now)")
	flags.StringVarP(&f.output, "output", "o", "text", "text or json")
	return c
}

func (f *resolveFlags) run(stdin io.Reader, stdout io.Writer) error {
	request, err := f.request()
	if err != nil {
		return err
	}
	catalogs, err := f.catalogs(stdin)
	if err != nil {
		return err
	}
	expanded := expandAll(catalogs)
	choice, err := imagecatalog.Resolve(expanded.candidates, request)
	return answer{expanded: expanded, request: request, json: f.output == "json"}.print(stdout, choice, err)
}

// request checks the flags and makes a request of them.
func (f *resolveFlags) request() (imagecatalog.Request, error) {
	r := imagecatalog.Request{OS: infrav1.OSName(f.os), Zone: f.zone, Image: f.image, Now: time.Now()}
	if f.file == "" || f.version == "" {
		return r, errors.New("resolve needs --file and --version")
	}
	if f.output != "json" && f.output != "text" {
		return r, fmt.Errorf("unknown output format %q: use json or text", f.output)
	}
	var err error
	if r.Version, err = imagecatalog.ParseVersion(f.version); err != nil {
		return r, fmt.Errorf("--version: %w", err)
	}
	if r.Arch, err = parseArch(f.arch); err != nil {
		return r, err
	}
	if r.Hypervisor, err = parseHypervisor(f.hypervisor); err != nil {
		return r, err
	}
	if f.newestBuild {
		r.Builds = imagecatalog.BuildsNewest
	}
	if f.at != "" {
		if r.Now, err = time.Parse(time.RFC3339, f.at); err != nil {
			return r, fmt.Errorf("--at %q is not a time such as 2027-01-31T00:00:00Z", f.at)
		}
	}
	return r, nil
}

// parseArch takes CloudStack's words and those of Go and Debian.
func parseArch(text string) (infrav1.Arch, error) {
	switch strings.ToLower(text) {
	case "":
		return "", nil
	case "x86_64", "amd64":
		return infrav1.ArchX8664, nil
	case "aarch64", "arm64":
		return infrav1.ArchAArch64, nil
	}
	return "", fmt.Errorf("unknown architecture %q: use x86_64 or aarch64", text)
}

func parseHypervisor(text string) (infrav1.Hypervisor, error) {
	all := []infrav1.Hypervisor{infrav1.HypervisorKVM, infrav1.HypervisorVMware, infrav1.HypervisorXenServer, infrav1.HypervisorSimulator}
	i := slices.IndexFunc(all, func(h infrav1.Hypervisor) bool { return strings.EqualFold(string(h), text) })
	switch {
	case text == "":
		return "", nil
	case i < 0:
		return "", fmt.Errorf("unknown hypervisor %q: use KVM, VMware or XenServer", text)
	}
	return all[i], nil
}

func (f *resolveFlags) catalogs(stdin io.Reader) ([]infrav1.TemplateCatalog, error) {
	in := stdin
	if f.file != "-" {
		file, err := os.Open(f.file)
		if err != nil {
			return nil, fmt.Errorf("opening the catalog: %w", err)
		}
		defer file.Close()
		in = file
	}
	catalogs, err := imagecatalog.DecodeCatalogs(in)
	if err != nil {
		return nil, fmt.Errorf("catalog %s: %w", f.file, err)
	}
	return catalogs, nil
}

// expansion is everything that the catalogs name.
type expansion struct {
	candidates []imagecatalog.Candidate
	entries    map[string]namedEntry // by the ID of the candidate
}

type namedEntry struct {
	catalog string
	entry   imagecatalog.Entry
	dropped bool // by the catalog's retention
}

func expandAll(catalogs []infrav1.TemplateCatalog) expansion {
	out := expansion{entries: map[string]namedEntry{}}
	for i := range catalogs {
		catalog := &catalogs[i]
		entries, _ := imagecatalog.Expand(&catalog.Spec) // decoding has proven that there are no errors
		kept := keptBy(catalog, entries)
		for j := range entries {
			c := imagecatalog.CandidateOf(catalog.Name, &entries[j])
			out.candidates = append(out.candidates, c)
			out.entries[c.ID] = namedEntry{catalog: catalog.Name, entry: entries[j], dropped: !kept[c.ID]}
		}
	}
	return out
}

// keptBy names the images that the catalog's retention keeps. Expiry is left to the request.
func keptBy(catalog *infrav1.TemplateCatalog, entries []imagecatalog.Entry) map[string]bool {
	in := imagecatalog.PlanInput{Catalog: catalog.Name, Desired: entries}
	if keep := catalog.Spec.Retention.KeepPatchesPerMinor; keep != nil {
		in.KeepPatchesPerMinor = *keep
	}
	kept := map[string]bool{}
	plan := imagecatalog.MakePlan(in)
	for _, item := range plan.Create {
		kept[item.Name] = true
	}
	return kept
}
