package build

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/imagecatalog/artifact/convert"
	"github.com/capcat/capcat/imagecatalog/catalogfile"
)

// ErrExists says that a file of that name is there already.
var ErrExists = errors.New("there is a file of that name already")

// ErrBusy says that another build of the same name is underway in the folder.
var ErrBusy = errors.New("another build writes this log: wait for it, or give another --name or --dir")

// Result is a finished build.
type Result struct {
	// Name is the begin of the names of all files.
	Name string
	// Dir has the files.
	Dir string
	// Images are the images, by their suffixes in the order of Outputs.
	Images []convert.Result
	// Entry is for catalogs, EntryPath the path of catalog-entry.yaml with it.
	Entry     catalogfile.Entry
	EntryPath string
	// SBOM is the path of the bill of materials.
	SBOM string
	// Log is what Packer and the machine said.
	Log string
}

// EntryFile is the name of the file with the entry, behind the name of the build.
const EntryFile = "catalog-entry.yaml"

// Build makes the image. Everything is written below a hidden folder in Options.Dir and gets its name when all of it is complete: a
// build that fails, is stopped or is killed leaves its log and nothing else. The result of one that could not be put into the catalog
// is complete.
func Build(ctx context.Context, o Options) (Result, error) {
	p, err := newPlan(o)
	if err != nil {
		return Result{}, err
	}
	if err := os.MkdirAll(p.Dir, 0o755); err != nil {
		return Result{}, fmt.Errorf("making the folder for the files: %w", err)
	}
	if err := p.vacant(); err != nil {
		return Result{}, err
	}
	log, err := p.openLog()
	if err != nil {
		return Result{}, fmt.Errorf("making the log %s: %w", p.file("log"), err)
	}
	work, err := os.MkdirTemp(p.Dir, "."+p.Name+".partial-")
	if err != nil {
		return Result{}, errors.Join(fmt.Errorf("making a folder to work in: %w", err), log.Close())
	}
	result, err := p.guarded(ctx, work, log)
	if err != nil {
		fmt.Fprintf(log, "\nfailed: %v\n", err)
		err = fmt.Errorf("building %s: %w (log: %s)", p.Name, err, p.file("log"))
	}
	return result, errors.Join(err, log.Close(), os.RemoveAll(work))
}

// openLog empties the log of an earlier build, but not that of one which still writes.
func (p plan) openLog() (*os.File, error) {
	log, err := os.OpenFile(p.file("log"), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	err = lockLog(log)
	if err == nil {
		err = log.Truncate(0)
	}
	if err != nil {
		return nil, errors.Join(err, log.Close())
	}
	return log, nil
}

// guarded builds, and has everything cleaned up also when this program is killed.
func (p plan) guarded(ctx context.Context, work string, log *os.File) (Result, error) {
	g, err := newGuard(work)
	if err != nil {
		return Result{}, err
	}
	result, err := p.build(ctx, work, log, g)
	return result, errors.Join(err, g.end())
}

// vacant makes sure that no file would be replaced.
func (p plan) vacant() error {
	for _, path := range p.targets() {
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s: %w; remove it, or give another --name or --dir", path, errors.Join(ErrExists, err))
		}
	}
	return nil
}

// targets are the final names, in the order in which they appear: the entry last, because it names the others.
func (p plan) targets() []string {
	var all []string
	for _, suffix := range p.Outputs {
		all = append(all, p.file(suffix), p.file(suffix+".sha256"), p.file(suffix+".sha512"))
	}
	return append(all, p.file("spdx.json"), p.file(EntryFile))
}

func (p plan) build(ctx context.Context, work string, log *os.File, g *guard) (Result, error) {
	m, err := p.prepare(ctx, work)
	if err != nil {
		return Result{}, err
	}
	m.log, m.guard = log, g
	p.Report(Event{Step: "packer"})
	fmt.Fprintf(log, "%s, Packer %s, accelerator %s, base image %s\n", p.Name, m.tools.version, m.accelerator, m.digest)
	out, err := m.run(ctx)
	if err != nil {
		return Result{}, err
	}
	ready := filepath.Join(work, "ready")
	if err := os.Mkdir(ready, 0o755); err != nil {
		return Result{}, err
	}
	made, err := m.convert(ctx, out.disk, ready)
	if err != nil {
		return Result{}, err
	}
	result, err := p.describe(out.contents, ready, made)
	if err != nil {
		return Result{}, err
	}
	if err := p.publish(ready); err != nil {
		return Result{}, err
	}
	if p.Catalog == "" {
		return result, nil
	}
	return result, catalogfile.Put(p.Catalog, result.Entry)
}

// prepare looks at everything that can fail soon, before the machine takes its minutes.
func (p plan) prepare(ctx context.Context, work string) (machine, error) {
	m := machine{plan: p, dir: work}
	var err error
	p.Report(Event{Step: "tools"})
	if m.tools, err = p.findTools(ctx); err != nil {
		return machine{}, err
	}
	if err := p.enoughSpace(); err != nil {
		return machine{}, err
	}
	if p.Catalog != "" {
		if err := catalogfile.Check(p.Catalog, infrav1.CatalogImage{Name: entryName(p.Name)}); err != nil {
			return machine{}, err
		}
	}
	if err := p.askMirror(ctx); err != nil {
		return machine{}, err
	}
	p.Report(Event{Step: "base image"})
	if m.base, m.digest, err = p.base(ctx); err != nil {
		return machine{}, err
	}
	if m.base, err = filepath.Abs(m.base); err != nil {
		return machine{}, err
	}
	if err := p.checkBase(ctx, m.base); err != nil {
		return machine{}, err
	}
	p.Report(Event{Step: "accelerator"})
	m.accelerator, err = p.accelerate(ctx, m.tools, m.base)
	if err == nil {
		p.Report(Event{Note: m.accelerator})
	}
	return m, err
}

// describe writes the entry and the bill of materials.
func (p plan) describe(contents, dir string, made map[string]convert.Result) (Result, error) {
	f, err := os.Open(contents)
	if err != nil {
		return Result{}, fmt.Errorf("reading the list of contents: %w", err)
	}
	defer f.Close()
	parts, err := parseContents(f)
	if err != nil {
		return Result{}, err
	}
	r := Result{Name: p.Name, Dir: p.Dir, EntryPath: p.file(EntryFile), SBOM: p.file("spdx.json"), Log: p.file("log")}
	for _, suffix := range p.Outputs {
		image := made[suffix]
		image.Path = p.file(suffix)
		r.Images = append(r.Images, image)
	}
	if r.Entry, err = p.entryWith(made, parts); err != nil {
		return Result{}, err
	}
	created := p.Created
	if created.IsZero() {
		created = time.Now()
	}
	sbom, err := p.billOfMaterials(parts, r.Images[0].SHA256, created)
	if err != nil {
		return Result{}, fmt.Errorf("writing the bill of materials: %w", err)
	}
	for path, text := range map[string][]byte{r.EntryPath: []byte(r.Entry.Text), r.SBOM: sbom} {
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(path)), text, 0o644); err != nil {
			return Result{}, err
		}
	}
	return r, nil
}

// nameNew gives a file its name unless there is one of that name by now. File systems without links are asked before.
func nameNew(from, to string) error {
	err := os.Link(from, to)
	switch {
	case errors.Is(err, fs.ErrExist):
		return fmt.Errorf("%s: %w", to, ErrExists)
	case errors.Is(err, errors.ErrUnsupported) || errors.Is(err, fs.ErrPermission):
		if _, err := os.Lstat(to); !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s: %w", to, errors.Join(ErrExists, err))
		}
		return os.Rename(from, to)
	}
	return err
}

// publish gives the files their names, all or none.
func (p plan) publish(ready string) error {
	targets := p.targets()
	for i, path := range targets {
		if err := nameNew(filepath.Join(ready, filepath.Base(path)), path); err != nil {
			for _, named := range targets[:i] {
				err = errors.Join(err, os.Remove(named))
			}
			return err
		}
	}
	return nil
}
