package build

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/imagecatalog"
	"github.com/capcat/capcat/imagecatalog/artifact/convert"
	"github.com/capcat/capcat/imagecatalog/catalogfile"
)

// served says which file a hypervisor gets: the first of these that was made.
var served = []struct {
	hypervisor infrav1.Hypervisor
	suffixes   []string
}{
	{infrav1.HypervisorKVM, []string{"qcow2", "qcow2.bz2"}},
	{infrav1.HypervisorVMware, []string{"ova"}},
	{infrav1.HypervisorXenServer, []string{"vhd.bz2", "vhd"}},
}

// entry is the image as a TemplateCatalog takes it.
func (p plan) entry(made map[string]convert.Result) infrav1.CatalogImage {
	image := infrav1.CatalogImage{
		Name:     entryName(p.Name),
		OS:       infrav1.OSName(p.OS),
		Arch:     infrav1.ArchX8664,
		Template: infrav1.TemplateOptions{OSType: p.value("os_type")},
	}
	if p.Architecture == "arm64" {
		image.Arch = infrav1.ArchAArch64
	}
	for _, s := range served {
		for _, suffix := range s.suffixes {
			result, found := made[suffix]
			if !found {
				continue
			}
			image.Artifacts = append(image.Artifacts, infrav1.CatalogArtifact{
				KubernetesVersion: infrav1.KubernetesVersion(p.KubernetesVersion),
				Hypervisor:        s.hypervisor,
				ImageSource: infrav1.ImageSource{
					URLs:     []infrav1.SourceURL{infrav1.SourceURL(p.address(suffix))},
					Checksum: infrav1.Checksum{Algorithm: infrav1.ChecksumAlgorithm(result.SHA256.Algorithm), Value: result.SHA256.Hex},
				},
			})
			break
		}
	}
	return image
}

const maxOSType = 255

var osName = regexp.MustCompile(`^[A-Za-z0-9]([-A-Za-z0-9._]{0,61}[A-Za-z0-9])?$`)

// checkEntry makes sure that an API server will take the entry, before the machine takes its minutes.
func (p plan) checkEntry() error {
	var errs []error
	if !osName.MatchString(p.OS) {
		errs = append(errs, fmt.Errorf("a catalog takes no operating system of the name %q: up to 63 letters, digits, dots, underscores and hyphens", p.OS))
	}
	if n := utf8.RuneCountInString(p.value("os_type")); n > maxOSType {
		errs = append(errs, fmt.Errorf("os_type has %d characters; a catalog takes %d", n, maxOSType))
	}
	for _, suffix := range p.Outputs {
		if err := imagecatalog.CheckURL(p.address(suffix)); err != nil {
			return errors.Join(append(errs, fmt.Errorf("the address of %s.%s below the base URL: %w", p.Name, suffix, err))...)
		}
	}
	return errors.Join(errs...)
}

// address is where a file will be served.
func (p plan) address(suffix string) string {
	base := p.BaseURL
	if base == "" {
		base = catalogfile.PlaceholderURL
	}
	return base + "/" + p.Name + "." + suffix
}

// entryName makes a name that Kubernetes takes out of that of the files.
func entryName(name string) string {
	const longest = 63
	plain := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		}
		return '-'
	}, name)
	return strings.Trim(plain[:min(len(plain), longest)], "-")
}

// entryWith is the entry with what people want to know in comments.
func (p plan) entryWith(made map[string]convert.Result, parts []part) (catalogfile.Entry, error) {
	comments := []string{fmt.Sprintf("# %s with Kubernetes %s, %s. An item of spec.images of a TemplateCatalog.", p.value("os_title"), p.KubernetesVersion, p.Architecture)}
	say := func(format string, args ...any) { comments = append(comments, fmt.Sprintf("# "+format, args...)) }
	if p.BaseURL == "" {
		comments = append(comments, catalogfile.Note)
	}
	for _, suffix := range Outputs() {
		if r, found := made[suffix]; found {
			say("%s.%s: %d bytes, virtual size %d bytes (%.1f GiB)", p.Name, suffix, r.Bytes, r.VirtualSizeBytes, gib(r.VirtualSizeBytes))
		}
	}
	packages := 0
	for _, c := range parts {
		switch c.Kind {
		case "deb", "rpm":
			packages++
		default:
			say("contains %s %s %s", c.Kind, c.Name, c.Version)
		}
	}
	say("contains %d packages; %s lists them with versions and licences", packages, p.Name+".spdx.json")
	return catalogfile.NewEntry(comments, p.entry(made))
}
