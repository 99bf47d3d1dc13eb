package publish

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/imagecatalog"
	"github.com/capcat/capcat/imagecatalog/index"
)

// entryAt is the text of the entry with the addresses that its files have below base; everything else, comments too, stays as
// it is. With an empty base the text stays as it is.
func (b *build) entryAt(base string) (string, error) {
	if base == "" {
		return b.text, nil
	}
	text := b.text
	want := make([]infrav1.CatalogImage, 0, len(b.entries))
	for i := range b.entries {
		image := *b.entries[i].DeepCopy()
		for j := range image.Artifacts {
			a := &image.Artifacts[j]
			f, err := b.fileOf(*a)
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
			text = replaceWord(text, string(a.URLs[0]), address)
			a.URLs = []infrav1.SourceURL{infrav1.SourceURL(address)}
		}
		want = append(want, image)
	}
	got, err := parseEntry([]byte(text))
	if err != nil {
		return "", fmt.Errorf("putting the addresses into the entry: %w", err)
	}
	for i := range got {
		for j := range got[i].Artifacts { // further mirrors of the build are none of the place that is published to
			got[i].Artifacts[j].URLs = got[i].Artifacts[j].URLs[:1]
		}
	}
	if !equality.Semantic.DeepEqual(want, got) {
		return "", fmt.Errorf("the entry %s%s is written in a way that its addresses cannot be replaced", b.name, EntrySuffix)
	}
	return text, nil
}

// replaceWord replaces a word where it stands alone, and not where it is the begin of a longer one.
func replaceWord(text, old, new string) string {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(text, old)
		b.WriteString(before)
		if !found {
			return b.String()
		}
		if after == "" || strings.ContainsAny(after[:1], " \t\r\n\"',]}#") {
			b.WriteString(new)
		} else {
			b.WriteString(old)
		}
		text = after
	}
}
