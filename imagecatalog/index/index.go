package index

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/capcat/capcat/imagecatalog"
	"github.com/capcat/capcat/imagecatalog/artifact"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
)

const (
	// Name is the name of the file.
	Name = "index.json"
	// SignatureSuffix is what the name of its signature has behind it.
	SignatureSuffix = ".minisig"
	// Format is what the file says of itself. Readers refuse another one; within it fields are only added.
	Format = "capcat-image-index/v1"
	// MaxBytes bounds the file.
	MaxBytes = 8 << 20

	maxImages = 10_000
	maxURLs   = 16
	maxURL    = 2048
)

// Index is the content of the file.
type Index struct {
	// Format is Format.
	Format string `json:"format"`
	// Revision grows by one with every change, so that an old index cannot be passed off as the newest.
	Revision int64 `json:"revision"`
	// Images are in the order of name, version and hypervisor.
	Images []Image `json:"images"`
}

// Image is one file for one hypervisor.
type Image struct {
	// Name of the image, as the entry of a catalog has it; with KubernetesVersion and Hypervisor it is unique.
	Name string `json:"name"`
	// KubernetesVersion is what the nodes run, such as v1.33.1.
	KubernetesVersion string `json:"kubernetesVersion"`
	// OS is the operating system, such as debian-12.
	OS string `json:"os"`
	// Arch is x86_64 or aarch64.
	Arch string `json:"arch"`
	// Hypervisor the file is for: KVM, VMware, XenServer or Simulator.
	Hypervisor string `json:"hypervisor"`
	// Format of the disk: QCOW2, VHD, OVA or RAW.
	Format string `json:"format"`
	// Compression around it: none, bzip2, gzip, xz, zstd or zip.
	Compression string `json:"compression"`
	// URLs have the file, the first one first. One without scheme is relative to the index.
	URLs []string `json:"urls"`
	// SizeBytes is the length of the file, VirtualSizeBytes that of the disk which the guest sees.
	SizeBytes        int64 `json:"sizeBytes"`
	VirtualSizeBytes int64 `json:"virtualSizeBytes"`
	// Digests of the file by algorithm, in lower-case hex; sha256 is always there.
	Digests map[artifact.Algorithm]string `json:"digests"`
	// OSType is the name of CloudStack's OS type, "" for a generic Linux.
	OSType string `json:"osType,omitempty"`
	// SBOM is the address of the bill of materials, relative to the index; "" when there is none.
	SBOM string `json:"sbom,omitempty"`
}

// Key tells the images of an index apart.
func (i Image) Key() string {
	return strings.Join([]string{i.Name, i.KubernetesVersion, i.Hypervisor, i.Arch}, " ")
}

// Parse reads an index and checks it. Fields that are not known here are passed over, as a reader of an older version does.
func Parse(data []byte) (Index, error) { return parse(data, false) }

// ParseStrict is Parse for who writes the index again: a field that is not known here, and would get lost, is an error.
func ParseStrict(data []byte) (Index, error) { return parse(data, true) }

func parse(data []byte, strict bool) (Index, error) {
	if len(data) > MaxBytes {
		return Index{}, fmt.Errorf("the index is larger than %d bytes", MaxBytes)
	}
	var head struct {
		Format string `json:"format"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return Index{}, fmt.Errorf("reading the index: %w", err)
	}
	if head.Format != Format {
		return Index{}, fmt.Errorf("the index is of the format %.60q; %s is read here", head.Format, Format)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	if strict {
		d.DisallowUnknownFields()
	}
	var x Index
	if err := d.Decode(&x); err != nil {
		return Index{}, fmt.Errorf("reading the index: %w", err)
	}
	return x, x.check()
}

// Encode gives the bytes of the file: always the same for the same index.
func (x Index) Encode() ([]byte, error) {
	x.Format = Format
	x.sort()
	if err := x.check(); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(x); err != nil {
		return nil, fmt.Errorf("writing the index: %w", err)
	}
	if b.Len() > MaxBytes {
		return nil, fmt.Errorf("the index would be larger than %d bytes", MaxBytes)
	}
	return b.Bytes(), nil
}

func (x *Index) sort() {
	x.Images = slices.Clone(x.Images)
	if x.Images == nil {
		x.Images = []Image{}
	}
	slices.SortFunc(x.Images, func(a, b Image) int {
		return cmp.Or(
			cmp.Compare(a.Name, b.Name), compareVersions(a.KubernetesVersion, b.KubernetesVersion),
			cmp.Compare(a.Hypervisor, b.Hypervisor), cmp.Compare(a.Arch, b.Arch),
		)
	})
}

// compareVersions puts older versions first; texts that are no versions, which check finds, in the order of letters.
func compareVersions(a, b string) int {
	v, errA := imagecatalog.ParseVersion(a)
	w, errB := imagecatalog.ParseVersion(b)
	if errA != nil || errB != nil {
		return cmp.Compare(a, b)
	}
	return cmp.Or(v.Compare(w), cmp.Compare(a, b))
}

// ErrOther says that an image is there already with other content.
var ErrOther = errors.New("another content is published under this name")

// Merge is the index with more images. An image that is there already with the same content is left as it is; with other
// content it is ErrOther. The revision grows when something was added.
func (x Index) Merge(more []Image) (Index, error) {
	out := Index{Format: Format, Revision: x.Revision, Images: slices.Clone(x.Images)}
	known := map[string]Image{}
	for _, i := range x.Images {
		known[i.Key()] = i
	}
	for _, i := range more {
		old, found := known[i.Key()]
		if found && (old.Digests[artifact.SHA256] != i.Digests[artifact.SHA256] || old.SizeBytes != i.SizeBytes) {
			return Index{}, fmt.Errorf("%s: %w", i.Key(), ErrOther)
		}
		if !found {
			known[i.Key()] = i
			out.Images = append(out.Images, i)
		}
	}
	if len(out.Images) > len(x.Images) {
		out.Revision++
	}
	out.sort()
	return out, out.check()
}

// check says what is wrong with the index.
func (x Index) check() error {
	if x.Revision < 0 || len(x.Images) > maxImages {
		return fmt.Errorf("the index has the revision %d and %d images", x.Revision, len(x.Images))
	}
	seen := map[string]bool{}
	for n, i := range x.Images {
		if err := i.check(); err != nil {
			return fmt.Errorf("images[%d]: %w", n, err)
		}
		if seen[i.Key()] {
			return fmt.Errorf("images[%d]: the index has %s twice", n, i.Key())
		}
		seen[i.Key()] = true
	}
	return nil
}

func (i Image) check() error {
	if _, err := imagecatalog.ParseVersion(i.KubernetesVersion); err != nil {
		return fmt.Errorf("kubernetesVersion: %w", err)
	}
	switch {
	case i.Name == "" || len(i.Name) > 63 || i.OS == "" || len(i.OS) > 63:
		return errors.New("name and os have 1 to 63 characters")
	case i.Arch != string(infrav1.ArchX8664) && i.Arch != string(infrav1.ArchAArch64):
		return fmt.Errorf("arch %.20q", i.Arch)
	case !imagecatalog.Takes(infrav1.Hypervisor(i.Hypervisor), infrav1.Format(i.Format)):
		return fmt.Errorf("hypervisor %.20q does not take the format %.20q", i.Hypervisor, i.Format)
	case i.SizeBytes <= 0 || i.VirtualSizeBytes <= 0:
		return errors.New("sizeBytes and virtualSizeBytes are more than 0")
	}
	return errors.Join(i.checkAddresses(), i.checkDigests())
}

func (i Image) checkAddresses() error {
	if len(i.URLs) == 0 || len(i.URLs) > maxURLs {
		return fmt.Errorf("%d urls; 1 to %d are the number", len(i.URLs), maxURLs)
	}
	for _, u := range i.URLs {
		if err := checkAddress(u); err != nil {
			return fmt.Errorf("urls: %w", err)
		}
	}
	if i.SBOM == "" {
		return nil
	}
	if err := checkAddress(i.SBOM); err != nil {
		return fmt.Errorf("sbom: %w", err)
	}
	return nil
}

func (i Image) checkDigests() error {
	for a, hex := range i.Digests {
		d, err := artifact.NewDigest(a, hex)
		if err != nil || d.Hex != hex {
			return fmt.Errorf("digests: %.20q is no digest in lower-case hex", string(a))
		}
	}
	if i.Digests[artifact.SHA256] == "" {
		return errors.New("digests: sha256 is missing")
	}
	return nil
}
