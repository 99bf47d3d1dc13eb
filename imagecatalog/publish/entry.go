package publish

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/imagecatalog"
	"github.com/capcat/capcat/imagecatalog/catalogfile"
	"github.com/capcat/capcat/imagecatalog/index"
)

// entryAt is the entry with the addresses that its files have below base. With an empty base it stays as it is.
func (b *build) entryAt(base string) (catalogfile.Entry, error) {
	old := catalogfile.Entry{Images: b.entries, Text: b.text}
	if base == "" {
		return old, nil
	}
	entry, err := old.At(func(a infrav1.CatalogArtifact) (string, error) {
		f, err := b.fileOf(a)
		if err != nil {
			return "", err
		}
		address, err := index.Resolve(base, index.Reference(f.name))
		if err != nil {
			return "", err
		}
		if err := imagecatalog.CheckURL(address); err != nil {
			return "", fmt.Errorf("the address %s: %w", address, err)
		}
		return address, nil
	})
	if err != nil {
		return catalogfile.Entry{}, err
	}
	got, err := parseEntry([]byte(entry.Text))
	if err != nil {
		return catalogfile.Entry{}, fmt.Errorf("putting the addresses into the entry: %w", err)
	}
	if !equality.Semantic.DeepEqual(entry.Images, got) {
		return catalogfile.Entry{}, fmt.Errorf("the entry %s%s is written in a way that its addresses cannot be replaced", b.name, EntrySuffix)
	}
	return entry, nil
}
