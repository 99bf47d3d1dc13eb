package catalogfile

import (
	"fmt"
	"strings"

	"sigs.k8s.io/yaml"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
)

const (
	// PlaceholderURL stands in an entry whose files have no address yet.
	PlaceholderURL = "https://images.example.org"
	// Note is the comment of such an entry.
	Note = "# The addresses are not known yet: capcat publish, or --base-url, puts the real ones in place of " + PlaceholderURL + "."
	// indented is how far items of spec.images are indented where people read them, so that they can follow "  images:".
	indented = 2
)

// Entry is one item of spec.images or more: what they say, and their lines with comments.
type Entry struct {
	Images []infrav1.CatalogImage
	Text   string
}

// NewEntry writes the images, with lines of comment in front. The lines can stand behind "  images:" as they are.
func NewEntry(comments []string, images ...infrav1.CatalogImage) (Entry, error) {
	body, err := yaml.Marshal(images)
	if err != nil {
		return Entry{}, fmt.Errorf("writing the entry: %w", err)
	}
	text := strings.Join(append(comments, string(body)), "\n")
	return Entry{Images: images, Text: shift(text, indented)}, nil
}

// Indented is the text, indented so far that it can stand behind "  images:" as it is.
func (e Entry) Indented() string { return shift(dedent(e.Text), indented) }

// At gives each artifact another first address: that of move. Further mirrors and everything else, comments too, stays as it is.
func (e Entry) At(move func(infrav1.CatalogArtifact) (string, error)) (Entry, error) {
	out := Entry{Text: e.Text}
	for i := range e.Images {
		image := *e.Images[i].DeepCopy()
		for j := range image.Artifacts {
			a := &image.Artifacts[j]
			address, err := move(*a)
			if err != nil {
				return Entry{}, err
			}
			out.Text = replaceWord(out.Text, string(a.URLs[0]), address)
			a.URLs[0] = infrav1.SourceURL(address)
		}
		out.Images = append(out.Images, image)
	}
	out.Text = withoutNote(out.Text)
	return out, nil
}

// withoutNote takes the note away when the addresses are known.
func withoutNote(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) != Note {
			b.WriteString(line)
		}
	}
	if strings.Contains(b.String(), PlaceholderURL) {
		return text
	}
	return b.String()
}
