package catalogfile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/imagecatalog"
)

// ErrCatalog says that an entry could not be put into a catalog.
var ErrCatalog = errors.New("the catalog was left as it is")

// Check says whether entries of these images can be put into the file.
func Check(file string, images ...infrav1.CatalogImage) error {
	_, catalog, err := read(file)
	if err == nil {
		_, _, err = change(&catalog, images)
	}
	return wrap(file, err)
}

// Put puts the entries behind the last image of the only catalog in the file. Entries that are there already with the same content
// get the addresses of the new ones; others of the same name are an error. Everything else, comments too, stays as it is. Of those that
// put something into one file at once, none undoes the work of another.
func Put(file string, entries ...Entry) error {
	return wrap(file, putLocked(file, entries))
}

// putLocked reads and writes with nobody in between. A link leads to the file, and is kept.
func putLocked(file string, entries []Entry) (err error) {
	if file, err = filepath.EvalSymlinks(file); err != nil {
		return err
	}
	unlock, err := lock(filepath.Dir(file))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	text, want, err := read(file)
	for _, e := range entries {
		if err == nil {
			text, err = put(text, &want, e)
		}
	}
	if err == nil {
		err = verify(text, want)
	}
	if err == nil {
		err = replace(file, text)
	}
	return err
}

func wrap(file string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %s: %w", ErrCatalog, file, err)
}

// read reads the only catalog of a file.
func read(file string) (text string, catalog infrav1.TemplateCatalog, err error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return "", catalog, err
	}
	all, err := imagecatalog.DecodeCatalogs(strings.NewReader(string(data)))
	if err != nil {
		return "", catalog, err
	}
	if len(all) != 1 {
		return "", catalog, fmt.Errorf("it holds %d catalogs, and one is needed", len(all))
	}
	return string(data), all[0], nil
}

// put changes the text, and the catalog in the same way.
func put(text string, catalog *infrav1.TemplateCatalog, e Entry) (string, error) {
	moves, there, err := change(catalog, e.Images)
	switch {
	case err != nil:
		return "", err
	case !there:
		return insert(text, dedent(e.Text))
	}
	for _, m := range moves {
		text = replaceWord(text, m.from, m.to)
	}
	return withoutNote(text), nil
}

// move is an address that took the place of another.
type move struct{ from, to string }

// change adds the images to the catalog, or gives those that are there their addresses.
func change(catalog *infrav1.TemplateCatalog, images []infrav1.CatalogImage) (moves []move, there bool, err error) {
	known := 0
	for _, image := range images {
		i := slices.IndexFunc(catalog.Spec.Images, func(old infrav1.CatalogImage) bool { return old.Name == image.Name })
		if i < 0 {
			continue
		}
		known++
		more, err := readdress(&catalog.Spec.Images[i], image)
		if err != nil {
			return nil, false, err
		}
		moves = append(moves, more...)
	}
	switch known {
	case 0:
		catalog.Spec.Images = append(catalog.Spec.Images, images...)
		return nil, false, nil
	case len(images):
		return moves, true, nil
	}
	return nil, false, errors.New("it has some of the entries and not the others: add those by hand")
}

// readdress gives an entry the addresses of one with the same content.
func readdress(old *infrav1.CatalogImage, image infrav1.CatalogImage) ([]move, error) {
	other := fmt.Errorf("it has an entry %s of other content already; build with another --name, or remove that entry", image.Name)
	if len(image.Artifacts) == 0 || len(old.Artifacts) != len(image.Artifacts) {
		return nil, other
	}
	var moves []move
	for i := range old.Artifacts {
		a := &old.Artifacts[i]
		j := slices.IndexFunc(image.Artifacts, func(b infrav1.CatalogArtifact) bool {
			return a.KubernetesVersion == b.KubernetesVersion && a.Hypervisor == b.Hypervisor && a.Checksum == b.Checksum
		})
		if j < 0 || len(a.URLs) == 0 || len(image.Artifacts[j].URLs) == 0 {
			return nil, other
		}
		to := image.Artifacts[j].URLs[0]
		if a.URLs[0] == to {
			continue
		}
		moves = append(moves, move{string(a.URLs[0]), string(to)})
		a.URLs = slices.Clone(a.URLs)
		a.URLs[0] = to
	}
	return moves, nil
}

// verify makes sure that the text means what it should.
func verify(text string, want infrav1.TemplateCatalog) error {
	after, err := imagecatalog.DecodeCatalogs(strings.NewReader(text))
	if err != nil {
		return fmt.Errorf("with the entry: %w", err)
	}
	if len(after) != 1 || !equality.Semantic.DeepEqual(want, after[0]) {
		return errors.New("it is written in a way that the entry cannot be put into without changing something else: do it by hand")
	}
	return nil
}

// replace writes beside the file and renames.
func replace(file, text string) error {
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	partial := filepath.Join(filepath.Dir(file), "."+filepath.Base(file)+".partial")
	err = os.WriteFile(partial, []byte(text), info.Mode().Perm())
	if err == nil {
		err = os.Rename(partial, file)
	}
	if err != nil {
		return errors.Join(err, os.Remove(partial))
	}
	return nil
}
