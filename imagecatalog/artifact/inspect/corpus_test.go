package inspect_test

import (
	"bytes"
	"crypto/md5"
	"crypto/sha256"
	"crypto/sha512"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/capcat/capcat/imagecatalog/artifact"
	"github.com/capcat/capcat/imagecatalog/artifact/compression"
	"github.com/capcat/capcat/imagecatalog/artifact/inspect"
)

const corpus = "../../../test/corpus"

// table reads a tab-separated file with a header line.
func table(t testing.TB, name string) []map[string]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(corpus, name))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	columns := strings.Split(lines[0], "\t")
	var rows []map[string]string
	for _, line := range lines[1:] {
		row := map[string]string{}
		for i, cell := range strings.Split(line, "\t") {
			row[columns[i]] = cell
		}
		rows = append(rows, row)
	}
	return rows
}

// load reads a file of the corpus.
func load(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(corpus, name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// outcome is what a whole run over a file gives.
type outcome struct {
	report      inspect.Report
	compression artifact.Compression
	content     []byte
	whole       bool
}

// run decompresses and inspects as the pipeline does.
func run(t testing.TB, data []byte, o inspect.Options) outcome {
	t.Helper()
	in, c, err := compression.NewReader(t.Context(), bytes.NewReader(data), artifact.Limits{MaxOutputBytes: 128 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	content, err := io.ReadAll(in)
	if code := artifact.CodeOf(err); code != "" {
		return outcome{report: inspect.Report{Verdict: inspect.Reject, Reason: code}, compression: c}
	}
	if err != nil {
		t.Fatal(err)
	}
	report, err := inspect.Inspect(t.Context(), bytes.NewReader(content), int64(len(content)), o)
	if err != nil {
		t.Fatal(err)
	}
	return outcome{report: report, compression: c, content: content, whole: true}
}

func TestCorpus(t *testing.T) {
	for _, row := range table(t, "MANIFEST.tsv") {
		t.Run(row["file"], func(t *testing.T) {
			data := load(t, row["file"])
			for name, have := range map[string]string{
				"sha256": fmt.Sprintf("%x", sha256.Sum256(data)),
				"sha512": fmt.Sprintf("%x", sha512.Sum512(data)),
				"md5":    fmt.Sprintf("%x", md5.Sum(data)),
			} {
				if have != row[name] {
					t.Fatalf("%s is %s, the table says %s", name, have, row[name])
				}
			}
			got := run(t, data, inspect.Options{Declared: artifact.Format(row["declared_format"]), Hypervisor: row["hypervisor"]})
			compare(t, row, got)
		})
	}
}

func compare(t *testing.T, row map[string]string, got outcome) {
	t.Helper()
	r := got.report
	reason := artifact.Code(strings.Trim(row["reason_code"], "-"))
	warned := slices.ContainsFunc(r.Findings, func(f inspect.Finding) bool { return f.Code == reason && !f.Rejects })
	switch row["verdict"] {
	case "accept":
		if r.Verdict == inspect.Reject {
			t.Errorf("rejected: %s: %s", r.Reason, r.Message)
		}
	case "warn":
		if r.Verdict != inspect.Warn || !warned {
			t.Errorf("%s with %v, want a warning %s", r.Verdict, r.Findings, reason)
		}
	case "reject":
		if r.Verdict != inspect.Reject || r.Reason != reason {
			t.Errorf("%s %s %q, want reject %s", r.Verdict, r.Reason, r.Message, reason)
		}
	}
	if string(got.compression) != row["compression"] && row["file"] != "box-named.qcow2" {
		t.Errorf("compression %s, want %s", got.compression, row["compression"])
	}
	if want := row["virtual_size_bytes"]; want != "-" && got.whole && strconv.FormatInt(r.VirtualSizeBytes, 10) != want {
		t.Errorf("virtual size %d, want %s", r.VirtualSizeBytes, want)
	}
	if want := row["decompressed_sha256"]; want != "-" && got.whole && fmt.Sprintf("%x", sha256.Sum256(got.content)) != want {
		t.Error("the decompressed bytes are not those of the table")
	}
	if r.Verdict == inspect.Accept {
		return
	}
	t.Logf("%s %s %q", r.Verdict, r.Reason, r.Message)
}
