// Command gen writes the compact copy of CloudStack's API descriptions that the simulator carries in its binary.
//
// It reads generate/listApis.json of the cloudstack-go module named in go.mod and writes one API a line, sorted by name, gzipped.
package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

const module = "github.com/apache/cloudstack-go/v2"

type param struct {
	Name        string  `json:"name"`
	Description string  `json:"description"`
	Type        string  `json:"type"`
	Length      int     `json:"length"`
	Required    bool    `json:"required"`
	Since       string  `json:"since,omitempty"`
	Related     *string `json:"related,omitempty"` // empty is not absent
}

type field struct {
	Name        string  `json:"name,omitempty"`
	Description string  `json:"description,omitempty"`
	Type        string  `json:"type,omitempty"`
	Response    []field `json:"response,omitempty"`
}

type api struct {
	Name        string  `json:"name"`
	Description string  `json:"description"`
	Since       string  `json:"since,omitempty"`
	IsAsync     bool    `json:"isasync"`
	Related     *string `json:"related,omitempty"`
	Params      []param `json:"params"`
	Response    []field `json:"response"`
}

func main() {
	if err := run("apis.jsonl.gz"); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func run(out string) error {
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	if err != nil {
		return fmt.Errorf("finding module %s: %w", module, err)
	}
	f, err := os.Open(filepath.Join(strings.TrimSpace(string(dir)), "generate", "listApis.json"))
	if err != nil {
		return err
	}
	defer f.Close()
	lines, err := convert(f)
	if err != nil {
		return err
	}
	return os.WriteFile(out, lines, 0o644)
}

// convert turns the server's reply into sorted lines, compressed without a time stamp so that equal input gives equal bytes.
func convert(r io.Reader) ([]byte, error) {
	var doc struct {
		API []api `json:"api"`
	}
	if err := json.NewDecoder(r).Decode(&doc); err != nil {
		return nil, fmt.Errorf("reading listApis.json: %w", err)
	}
	slices.SortFunc(doc.API, func(a, b api) int { return strings.Compare(a.Name, b.Name) })
	var buf bytes.Buffer
	zw, err := gzip.NewWriterLevel(&buf, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	enc := json.NewEncoder(zw)
	enc.SetEscapeHTML(false)
	for _, a := range doc.API {
		if err := enc.Encode(a); err != nil {
			return nil, err
		}
	}
	if err := zw.Close(); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}
