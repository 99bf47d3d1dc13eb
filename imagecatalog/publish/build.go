package publish

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/sha512"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/imagecatalog"
	"github.com/capcat/capcat/imagecatalog/artifact"
	"github.com/capcat/capcat/imagecatalog/artifact/compression"
	"github.com/capcat/capcat/imagecatalog/artifact/inspect"
	"github.com/capcat/capcat/imagecatalog/index"
)

// EntrySuffix is what the name of a build has behind it in the name of its entry.
const EntrySuffix = ".catalog-entry.yaml"

const maxEntry = 1 << 20

// build is what a run of capcat build left in a folder.
type build struct {
	dir, name string
	text      string                 // the entry as it was written
	entries   []infrav1.CatalogImage // what it says
	files     []file                 // all files of the build but the entry
	images    []index.Image
}

// file is one file to publish.
type file struct {
	name   string
	path   string
	size   int64
	sha256 artifact.Digest
	sha512 artifact.Digest
}

// findBuilds takes folders, of which all entries are meant, and files of entries.
func findBuilds(paths []string) ([]string, error) {
	var entries []string
	for _, p := range paths {
		info, err := os.Stat(p)
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			entries = append(entries, p)
			continue
		}
		found, err := filepath.Glob(filepath.Join(globEscape(p), "*"+EntrySuffix))
		if err != nil {
			return nil, err
		}
		if len(found) == 0 {
			return nil, fmt.Errorf("%s has no build: no file NAME%s", p, EntrySuffix)
		}
		entries = append(entries, found...)
	}
	slices.Sort(entries)
	return slices.Compact(entries), nil
}

func globEscape(p string) string {
	return strings.NewReplacer("*", `\*`, "?", `\?`, "[", `\[`, `\`, `\\`).Replace(p)
}

// readBuild reads an entry and lists the files of its build.
func readBuild(entry string) (*build, error) {
	dir, base := filepath.Split(entry)
	name, found := strings.CutSuffix(base, EntrySuffix)
	if !found || name == "" || strings.HasPrefix(name, ".") {
		return nil, fmt.Errorf("%s is not named NAME%s", entry, EntrySuffix)
	}
	f, err := os.Open(entry)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := readBounded(f, maxEntry)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", base, err)
	}
	b := &build{dir: dir, name: name, text: string(text)}
	if b.entries, err = parseEntry(text); err != nil {
		return nil, fmt.Errorf("reading %s: %w", base, err)
	}
	return b, b.list()
}

// parseEntry reads items of spec.images, or one alone, as strictly as the API server does.
func parseEntry(text []byte) ([]infrav1.CatalogImage, error) {
	data, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		return nil, err
	}
	var images []infrav1.CatalogImage
	if !bytes.HasPrefix(data, []byte("[")) {
		data = slices.Concat([]byte("["), data, []byte("]"))
	}
	if err := yaml.UnmarshalStrict(data, &images, yaml.DisallowUnknownFields); err != nil {
		return nil, err
	}
	for _, image := range images {
		if image.Name == "" || len(image.Artifacts) == 0 {
			return nil, errors.New("an entry needs a name and artifacts; one with a pattern has no files of its own")
		}
	}
	if len(images) == 0 {
		return nil, errors.New("it holds no entry")
	}
	return images, nil
}

// list finds the files of the build: what its name has in front, but for the log, and for what belongs to a build beside it of which
// the name goes on with a dot. Links and folders are none of them.
func (b *build) list() error {
	all, err := os.ReadDir(filepath.Join(b.dir, "."))
	if err != nil {
		return err
	}
	var longer []string
	for _, e := range all {
		if other, found := strings.CutSuffix(e.Name(), EntrySuffix); found && strings.HasPrefix(other, b.name+".") {
			longer = append(longer, other+".")
		}
	}
	for _, e := range all {
		name := e.Name()
		if slices.ContainsFunc(longer, func(other string) bool { return strings.HasPrefix(name, other) }) {
			continue
		}
		if !strings.HasPrefix(name, b.name+".") || !e.Type().IsRegular() || strings.HasSuffix(name, EntrySuffix) || strings.HasSuffix(name, ".log") {
			continue
		}
		b.files = append(b.files, file{name: name, path: filepath.Join(b.dir, name)})
	}
	return nil
}

// check hashes every file, compares the digests with what the entry and the side files say, and inspects the images.
func (b *build) check(ctx context.Context, report func(string)) error {
	for i := range b.files {
		report("hashing " + b.files[i].name)
		if err := b.files[i].hash(ctx); err != nil {
			return fmt.Errorf("hashing %s: %w", b.files[i].name, err)
		}
	}
	if err := b.checkSideFiles(); err != nil {
		return err
	}
	for _, image := range b.entries {
		for _, a := range image.Artifacts {
			if err := b.checkArtifact(ctx, image, a, report); err != nil {
				return fmt.Errorf("entry %s, %s on %s: %w", image.Name, a.KubernetesVersion, a.Hypervisor, err)
			}
		}
	}
	return nil
}

func (f *file) hash(ctx context.Context) error {
	in, err := os.Open(f.path)
	if err != nil {
		return err
	}
	defer in.Close()
	h256, h512 := sha256.New(), sha512.New()
	f.size, err = io.Copy(io.MultiWriter(h256, h512), stoppable{ctx, in})
	f.sha256, f.sha512 = artifact.DigestOf(artifact.SHA256, h256), artifact.DigestOf(artifact.SHA512, h512)
	return err
}

// find gives a file of the build by its name.
func (b *build) find(name string) (file, bool) {
	i := slices.IndexFunc(b.files, func(f file) bool { return f.name == name })
	if i < 0 {
		return file{}, false
	}
	return b.files[i], true
}

// checkSideFiles compares what side files say; one that is wrong would be published with a file that is right.
func (b *build) checkSideFiles() error {
	for _, side := range b.files {
		stem := strings.TrimSuffix(side.name, path.Ext(side.name))
		of, found := b.find(stem)
		algorithm, err := artifact.ParseAlgorithm(strings.TrimPrefix(path.Ext(side.name), "."))
		if !found || err != nil {
			continue
		}
		text, err := os.ReadFile(side.path)
		if err != nil {
			return err
		}
		want := map[artifact.Algorithm]string{artifact.SHA256: of.sha256.Hex, artifact.SHA512: of.sha512.Hex}[algorithm]
		if said, _, _ := strings.Cut(string(text), " "); want != "" && said != want {
			return artifact.NewError(artifact.ChecksumMismatch, fmt.Sprintf("%s is not the digest of %s", side.name, of.name))
		}
	}
	return nil
}

// fileOf is the file that an artifact means: the last part of its first address.
func (b *build) fileOf(a infrav1.CatalogArtifact) (file, error) {
	if len(a.URLs) == 0 {
		return file{}, errors.New("there is no address")
	}
	u, err := url.Parse(string(a.URLs[0]))
	if err != nil {
		return file{}, errors.New("the address cannot be read")
	}
	f, found := b.find(path.Base(u.Path))
	if !found {
		return file{}, fmt.Errorf("%s is not among the files of the build %s", path.Base(u.Path), b.name)
	}
	return f, nil
}

// checkArtifact proves one artifact and makes its line of the index.
func (b *build) checkArtifact(ctx context.Context, image infrav1.CatalogImage, a infrav1.CatalogArtifact, say func(string)) error {
	f, err := b.fileOf(a)
	if err != nil {
		return err
	}
	have := map[infrav1.ChecksumAlgorithm]string{"sha256": f.sha256.Hex, "sha512": f.sha512.Hex}[a.Checksum.Algorithm]
	if have == "" {
		return errors.New("the entry proves the file neither by sha256 nor by sha512")
	}
	if !strings.EqualFold(have, a.Checksum.Value) {
		return artifact.NewError(artifact.ChecksumMismatch, fmt.Sprintf("%s has the %s %s, the entry says %s", f.name, a.Checksum.Algorithm, have, a.Checksum.Value))
	}
	say("inspecting " + f.name)
	format := a.Format
	if format == "" {
		format = imagecatalog.FormatFor(a.Hypervisor)
	}
	report, packed, err := inspectFile(ctx, f.path, inspect.Options{Declared: artifact.Format(format), Hypervisor: string(a.Hypervisor)})
	if err != nil {
		return fmt.Errorf("inspecting %s: %w", f.name, err)
	}
	line := index.Image{
		Name: image.Name, KubernetesVersion: string(a.KubernetesVersion), OS: string(image.OS), Arch: string(image.Arch),
		Hypervisor: string(a.Hypervisor), Format: string(format), Compression: string(packed),
		URLs: []string{index.Reference(f.name)}, SizeBytes: f.size, VirtualSizeBytes: report.VirtualSizeBytes,
		Digests: map[artifact.Algorithm]string{artifact.SHA256: f.sha256.Hex, artifact.SHA512: f.sha512.Hex},
		OSType:  image.Template.OSType,
	}
	if line.Arch == "" {
		line.Arch = string(infrav1.ArchX8664)
	}
	if sbom, found := b.find(b.name + ".spdx.json"); found {
		line.SBOM = index.Reference(sbom.name)
	}
	b.images = append(b.images, line)
	return nil
}

// inspectFile inspects a file as the provider will, unpacked if it is packed.
func inspectFile(ctx context.Context, name string, o inspect.Options) (report inspect.Report, packed artifact.Compression, err error) {
	in, err := os.Open(name)
	if err != nil {
		return report, "", err
	}
	defer in.Close()
	z, packed, err := compression.NewReader(ctx, in, artifact.Limits{})
	if err != nil {
		return report, packed, err
	}
	defer z.Close()
	content := in
	if packed != artifact.None {
		temp, err := os.CreateTemp("", "capcat-publish-")
		if err != nil {
			return report, packed, err
		}
		defer func() { err = errors.Join(err, temp.Close(), os.Remove(temp.Name())) }()
		if _, err := io.Copy(temp, z); err != nil {
			return report, packed, err
		}
		content = temp
	}
	info, err := content.Stat()
	if err != nil {
		return report, packed, err
	}
	report, err = inspect.Inspect(ctx, content, info.Size(), o)
	if err == nil {
		err = report.Err()
	}
	return report, packed, err
}
