package publish

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"aead.dev/minisign"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/imagecatalog/artifact"
	"github.com/capcat/capcat/imagecatalog/catalogfile"
	"github.com/capcat/capcat/imagecatalog/index"
)

// Options say what is published where.
type Options struct {
	// Builds are folders, of which every build is meant, and files NAME.catalog-entry.yaml.
	Builds []string
	// Place is where they go.
	Place Place
	// Key signs the index.
	Key minisign.PrivateKey
	// Trusted are further keys that may have signed the index which is there already, for a change of the key.
	Trusted []minisign.PublicKey
	// BaseURL is the address of the place for those who fetch from it. It makes the lines for catalogs; they keep the addresses
	// of the build when it is empty.
	BaseURL string
	// Catalog is a file with a TemplateCatalog that the entries are put into when all is published; "" for none.
	Catalog string
	// Now dates the signature; the present when zero.
	Now time.Time
	// Report is told what is done, in words for people; it may be nil.
	Report func(Event)
}

// Event is one step that was done, or is begun.
type Event struct {
	// Doing is what is begun, such as "hashing node.qcow2"; "" when File is done.
	Doing string
	// File is done: Uploaded, or there already with the same content.
	File     string
	Uploaded bool
}

// Result is what is published now.
type Result struct {
	// Index is the list of all images.
	Index index.Index
	// Added are the images of these builds.
	Added []index.Image
	// Uploaded and Kept are the files that were sent, and that were there already with the same content.
	Uploaded, Kept []string
	// Entries are for catalogs, with final addresses.
	Entries []catalogfile.Entry
}

// maxRounds bounds how often the index is merged again because others publish at the same time.
const maxRounds = 5

// Run publishes builds. Every file is checked first: its digest against the entry, its content by the inspection. Files come
// first and the index last, so that the index never names what is not there. A file that is there with the same content is
// left, one with other content stops the run before anything of the index is changed. A run that was cut is simply run again.
func Run(ctx context.Context, o Options) (Result, error) {
	if o.Report == nil {
		o.Report = func(Event) {}
	}
	if o.Now.IsZero() {
		o.Now = time.Now()
	}
	p := &publication{Options: o, history: history{place: o.Place, trusted: o.Trusted}}
	public, err := index.PublicKeyOf(o.Key)
	if err != nil {
		return Result{}, err
	}
	p.history.trusted = append([]minisign.PublicKey{public}, o.Trusted...)
	if err := p.run(ctx); err != nil {
		return p.result, fmt.Errorf("publishing to %s: %w", o.Place, err)
	}
	return p.result, nil
}

// publication is one run.
type publication struct {
	Options
	history history
	builds  []*build
	same    map[string]bool // names that are there with the same content
	result  Result
}

func (p *publication) run(ctx context.Context) error {
	if err := p.gather(ctx); err != nil {
		return err
	}
	// What is there is proven before anything is sent, and what does not go together is told before.
	if err := p.checkCatalog(); err != nil {
		return err
	}
	current, err := p.history.newest(ctx)
	if err != nil {
		return err
	}
	if _, err := current.index.Merge(p.result.Added); err != nil {
		return err
	}
	if err := p.compareAll(ctx, current.index); err != nil {
		return err
	}
	for _, f := range p.objects() {
		if err := p.upload(ctx, f, current.index); err != nil {
			return err
		}
	}
	if err := p.updateIndex(ctx); err != nil || p.Catalog == "" {
		return err
	}
	if err := catalogfile.Put(p.Catalog, p.result.Entries...); err != nil {
		return fmt.Errorf("all is published, but %w", err)
	}
	return nil
}

// checkCatalog looks whether the entries can be put into the file.
func (p *publication) checkCatalog() error {
	if p.Catalog == "" {
		return nil
	}
	var images []infrav1.CatalogImage
	for _, entry := range p.result.Entries {
		images = append(images, entry.Images...)
	}
	return catalogfile.Check(p.Catalog, images...)
}

// gather reads and checks the builds.
func (p *publication) gather(ctx context.Context) error {
	entries, err := findBuilds(p.Builds)
	if err != nil {
		return err
	}
	if len(entries) == 0 {
		return errors.New("there is no build to publish")
	}
	for _, entry := range entries {
		b, err := readBuild(entry)
		if err == nil {
			err = b.check(ctx, func(doing string) { p.Report(Event{Doing: doing}) })
		}
		if err != nil {
			return err
		}
		entry, err := b.entryAt(p.BaseURL)
		if err != nil {
			return err
		}
		p.builds = append(p.builds, b)
		p.result.Entries = append(p.result.Entries, entry)
		p.result.Added = append(p.result.Added, b.images...)
	}
	return nil
}

// upload is one file of a build, or its entry.
type upload struct {
	name string
	Object
}

// objects are all files in the order in which they are sent: those of a build first, then its entry, which names them.
func (p *publication) objects() []upload {
	var all []upload
	for i, b := range p.builds {
		for _, f := range b.files {
			all = append(all, upload{f.name, Object{
				Open: func() (io.ReadCloser, error) { return os.Open(f.path) }, Size: f.size, SHA256: f.sha256,
			}})
		}
		all = append(all, upload{b.name + EntrySuffix, bytesObject([]byte(p.result.Entries[i].Text))})
	}
	return all
}

// compareAll looks for names that are taken, so that nothing is sent when one of them is.
func (p *publication) compareAll(ctx context.Context, current index.Index) error {
	p.same = map[string]bool{}
	for _, f := range p.objects() {
		p.Report(Event{Doing: "looking for " + f.name})
		same, err := p.there(ctx, f, current)
		if err != nil {
			return err
		}
		p.same[f.name] = same
	}
	return nil
}

// there says whether the file is there with the same content; other content is ErrOther.
func (p *publication) there(ctx context.Context, f upload, current index.Index) (bool, error) {
	size, err := p.Place.Size(ctx, f.name)
	if errors.Is(err, ErrMissing) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if size >= 0 && size != f.Size {
		return false, fmt.Errorf("%s: %w: %d bytes are there, and %d would be published; %s", f.name, index.ErrOther, size, f.Size, p.remedy(f.name))
	}
	if vouchedFor(current, f) {
		return true, nil
	}
	p.Report(Event{Doing: "comparing " + f.name})
	have, err := p.Place.Digest(ctx, f.name)
	if err != nil {
		return false, err
	}
	if have != f.SHA256 {
		return false, fmt.Errorf("%s: %w: it has the digest %s, and %s would be published; %s", f.name, index.ErrOther, have, f.SHA256, p.remedy(f.name))
	}
	return true, nil
}

// remedy is what to do about a file of other content. The entry of the build itself is not to be removed.
func (p *publication) remedy(name string) string {
	folder, local := p.Place.(*Folder)
	for _, b := range p.builds {
		if local && name == b.name+EntrySuffix && sameFile(folder.path(name), filepath.Join(b.dir, name)) {
			return "the place is the folder of the build, whose entry has other addresses: publish to another folder, or build with this --base-url"
		}
	}
	return "remove it, or build under another name"
}

func sameFile(a, b string) bool {
	first, err := os.Stat(a)
	if err != nil {
		return false
	}
	second, err := os.Stat(b)
	return err == nil && os.SameFile(first, second)
}

// vouchedFor says whether the signed index already names this content under this name: a run before this one sent it whole.
func vouchedFor(x index.Index, f upload) bool {
	for _, i := range x.Images {
		if i.URLs[0] == index.Reference(f.name) && i.Digests[artifact.SHA256] == f.SHA256.Hex && i.SizeBytes == f.Size {
			return true
		}
	}
	return false
}

// upload sends a file unless it was there when all were looked for.
func (p *publication) upload(ctx context.Context, f upload, current index.Index) error {
	same, err := p.same[f.name], error(nil)
	if !same {
		p.Report(Event{Doing: "sending " + f.name})
		err = p.Place.Create(ctx, f.name, f.Object)
		if errors.Is(err, ErrExists) { // an attempt whose answer was lost, or somebody else
			same, err = p.there(ctx, f, current)
			if err == nil && !same {
				err = fmt.Errorf("%s: %w", f.name, ErrChanged)
			}
		}
	}
	if err != nil {
		return err
	}
	if same {
		p.result.Kept = append(p.result.Kept, f.name)
	} else {
		p.result.Uploaded = append(p.result.Uploaded, f.name)
	}
	p.Report(Event{File: f.name, Uploaded: !same})
	return nil
}

// updateIndex adds the images to what is the newest index by now, until it finds them there: a server that knows no conditions may
// have let somebody else write over it.
func (p *publication) updateIndex(ctx context.Context) error {
	for round := range maxRounds {
		p.Report(Event{Doing: "updating the index"})
		added, err := p.addImages(ctx)
		switch {
		case errors.Is(err, ErrExists) || errors.Is(err, ErrChanged):
		case err != nil || !added || round == maxRounds-1:
			return err
		}
	}
	return fmt.Errorf("the index: %w, %d times", ErrChanged, maxRounds)
}

// addImages writes the next revision unless the newest has the images, and installs it. Somebody else may be faster:
// ErrExists or ErrChanged.
func (p *publication) addImages(ctx context.Context) (added bool, err error) {
	newest, err := p.history.newest(ctx)
	if err != nil {
		return false, err
	}
	next, err := newest.index.Merge(p.result.Added)
	if err != nil {
		return false, err
	}
	if next.Revision != newest.index.Revision {
		if newest, err = p.history.add(ctx, next, p.Key, p.Now); err != nil {
			return false, err
		}
		added = true
	}
	p.result.Index = newest.index
	return added, p.history.install(ctx, newest)
}
