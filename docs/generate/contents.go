package main

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// shelf is one part of the book: a folder whose pages stand in the order of first, then by name.
type shelf struct {
	folder, title string
	first         []string
}

func shelves() []shelf {
	return []shelf{
		{"tutorials", "Tutorials", []string{"first-catalog.md"}},
		{"guides", "Guides", []string{"real-cloudstack.md"}},
		{"reference", "Reference", []string{"templatecatalog.md", "cloudstackimage.md", "cloudstackcluster.md", "cloudstackclustertemplate.md", "cloudstackmachine.md", "cloudstackmachinetemplate.md", "capcat.md", "manager.md"}},
		{"explanation", "Explanation", []string{"pipeline.md"}},
		{"decisions", "Decisions", []string{"README.md"}},
		{"releases", "Releases", nil},
	}
}

// writeContents writes the index of decisions and the table of contents, from the pages that are there.
func writeContents(root string) error {
	docs := filepath.Join(root, "docs")
	if err := writeDecisions(root, docs); err != nil {
		return err
	}
	var b strings.Builder
	b.WriteString("# Summary\n\n[CAPCat](README.md)\n")
	for _, s := range shelves() {
		pages, err := pagesOf(docs, s)
		if err != nil {
			return err
		}
		if len(pages) == 0 {
			continue
		}
		fmt.Fprintf(&b, "\n# %s\n\n", s.title)
		for _, page := range pages {
			title, err := titleOf(filepath.Join(docs, page))
			if err != nil {
				return err
			}
			fmt.Fprintf(&b, "- [%s](%s)\n", title, filepath.ToSlash(page))
		}
	}
	return os.WriteFile(filepath.Join(docs, "SUMMARY.md"), []byte(b.String()), 0o644)
}

// pagesOf lists the pages of a shelf, relative to docs.
func pagesOf(docs string, s shelf) ([]string, error) {
	var pages []string
	err := filepath.WalkDir(filepath.Join(docs, s.folder), func(path string, d os.DirEntry, err error) error {
		if os.IsNotExist(err) {
			return nil
		}
		if err != nil || d.IsDir() || filepath.Ext(path) != ".md" {
			return err
		}
		page, err := filepath.Rel(docs, path)
		pages = append(pages, page)
		return err
	})
	slices.SortFunc(pages, func(a, b string) int {
		return strings.Compare(s.key(a), s.key(b))
	})
	return pages, err
}

// key sorts the first pages before all others.
func (s shelf) key(page string) string {
	if i := slices.Index(s.first, strings.TrimPrefix(filepath.ToSlash(page), s.folder+"/")); i >= 0 {
		return fmt.Sprintf(" %03d", i)
	}
	return page
}

// titleOf returns the first heading of a page.
func titleOf(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if title, ok := strings.CutPrefix(lines.Text(), "# "); ok {
			return strings.TrimSpace(title), nil
		}
	}
	if err := lines.Err(); err != nil {
		return "", fmt.Errorf("reading %s: %w", path, err)
	}
	return "", fmt.Errorf("%s has no heading", path)
}

// writeDecisions lists the decisions by number.
func writeDecisions(root, docs string) error {
	paths, err := filepath.Glob(filepath.Join(docs, "decisions", "[0-9]*.md"))
	if err != nil {
		return err
	}
	var b strings.Builder
	b.WriteString("# Decisions\n\nChoices that would surprise a reader, each with what it costs.\n\n")
	for _, path := range paths {
		title, err := titleOf(path)
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "- [%s](%s)\n", title, filepath.Base(path))
	}
	return writePage(root, "decisions/README.md", b.String())
}
