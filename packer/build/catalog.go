package build

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/imagecatalog"
)

// ErrCatalog says that the entry could not be appended to a catalog.
var ErrCatalog = errors.New("the catalog was left as it is")

// appendEntry puts the entry behind the last image of the only catalog in a file. Everything else, comments too, stays as it is.
func appendEntry(file, entry string, image infrav1.CatalogImage) error {
	old, want, err := readCatalog(file, image.Name)
	if err != nil {
		return err
	}
	text, err := insert(old, entry)
	if err != nil {
		return fmt.Errorf("%w: %s: %w", ErrCatalog, file, err)
	}
	after, err := imagecatalog.DecodeCatalogs(strings.NewReader(text))
	if err != nil {
		return fmt.Errorf("%w: %s with the entry: %w", ErrCatalog, file, err)
	}
	want.Spec.Images = append(want.Spec.Images, image)
	if len(after) != 1 || !equality.Semantic.DeepEqual(want, after[0]) {
		return fmt.Errorf("%w: %s is written in a way that the entry cannot be put into without changing something else: add it by hand", ErrCatalog, file)
	}
	return replaceFile(file, text)
}

// readCatalog reads the only catalog of a file, to which an entry of the name can be added.
func readCatalog(file, name string) (text string, catalog infrav1.TemplateCatalog, err error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return "", catalog, fmt.Errorf("%w: %w", ErrCatalog, err)
	}
	all, err := imagecatalog.DecodeCatalogs(strings.NewReader(string(data)))
	if err == nil {
		err = takes(all, name)
	}
	if err != nil {
		return "", catalog, fmt.Errorf("%w: %s: %w", ErrCatalog, file, err)
	}
	return string(data), all[0], nil
}

// takes says whether the entry can be added.
func takes(catalogs []infrav1.TemplateCatalog, name string) error {
	if len(catalogs) != 1 {
		return fmt.Errorf("it holds %d catalogs, and one is needed", len(catalogs))
	}
	for _, image := range catalogs[0].Spec.Images {
		if image.Name == name {
			return fmt.Errorf("it has an entry %s already; build with another --name, or remove that entry", name)
		}
	}
	return nil
}

// insert finds the place by the indentation of block style. The caller makes sure that the result means what it should.
func insert(text, entry string) (string, error) {
	lines := strings.SplitAfter(text, "\n")
	if last := lines[len(lines)-1]; last != "" {
		lines[len(lines)-1] = last + "\n"
	}
	key := find(lines, 0, func(line string) bool {
		return strings.HasPrefix(strings.TrimSpace(line), "images:") && indent(line) > 0
	})
	if key < 0 {
		return insertKey(lines, entry)
	}
	field := indent(lines[key])
	if rest := strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(lines[key]), "images:")); rest != "" && !strings.HasPrefix(rest, "#") {
		if rest != "[]" {
			return "", errors.New("its images are not written one item a line")
		}
		lines[key] = strings.Repeat(" ", field) + "images:\n"
	}
	item, end := field, key+1
	for i := key + 1; i < len(lines); i++ {
		line := lines[i]
		if blank(line) {
			continue
		}
		dash := strings.HasPrefix(strings.TrimSpace(line), "-")
		if indent(line) < field || indent(line) == field && !dash {
			break
		}
		if end == key+1 {
			item = indent(line)
		}
		end = i + 1
	}
	return splice(lines, end, shift(entry, item)), nil
}

// insertKey adds the list to a catalog that has none.
func insertKey(lines []string, entry string) (string, error) {
	spec := find(lines, 0, func(line string) bool { return strings.TrimRight(line, " \r\n") == "spec:" })
	if spec < 0 {
		return "", errors.New("it has no line with the key spec")
	}
	first := find(lines, spec+1, func(line string) bool { return !blank(line) })
	if first < 0 {
		return "", errors.New("its spec is empty")
	}
	return splice(lines, first, strings.Repeat(" ", indent(lines[first]))+"images:\n"+shift(entry, indent(lines[first]))), nil
}

func find(lines []string, from int, is func(string) bool) int {
	for i := from; i < len(lines); i++ {
		if is(lines[i]) {
			return i
		}
	}
	return -1
}

func splice(lines []string, at int, text string) string {
	return strings.Join(lines[:at], "") + text + strings.Join(lines[at:], "")
}

func indent(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

func blank(line string) bool {
	line = strings.TrimSpace(line)
	return line == "" || strings.HasPrefix(line, "#")
}

// shift indents every line.
func shift(text string, by int) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) != "" {
			b.WriteString(strings.Repeat(" ", by))
		}
		b.WriteString(line)
	}
	return b.String()
}

// replaceFile writes beside the file and renames.
func replaceFile(file, text string) error {
	info, err := os.Stat(file)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrCatalog, err)
	}
	partial := filepath.Join(filepath.Dir(file), "."+filepath.Base(file)+".partial")
	if err := os.WriteFile(partial, []byte(text), info.Mode().Perm()); err != nil {
		return fmt.Errorf("%w: %w", ErrCatalog, errors.Join(err, os.Remove(partial)))
	}
	if err := os.Rename(partial, file); err != nil {
		return fmt.Errorf("%w: %w", ErrCatalog, errors.Join(err, os.Remove(partial)))
	}
	return nil
}
