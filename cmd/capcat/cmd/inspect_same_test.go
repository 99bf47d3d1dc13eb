package cmd

import (
	"cmp"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/capcat/capcat/imagecatalog/artifact"
	"github.com/capcat/capcat/imagecatalog/artifact/fetch"
	"github.com/capcat/capcat/imagecatalog/artifact/inspect"
	"github.com/capcat/capcat/imagecatalog/artifact/store"
	"github.com/capcat/capcat/imagecatalog/importer"
)

// judgement is what both the command and the importer say of an image.
type judgement struct {
	Reject            bool
	Reason            artifact.Code
	Format            artifact.Format
	Compression       artifact.Compression
	VirtualSizeBytes  int64
	Download, Content string
	Warnings          []inspect.Finding
}

// TestInspectSaysWhatTheImporterSays holds the command, which reads a file where it lies, against the importer, which brings
// it into a store.
func TestInspectSaysWhatTheImporterSays(t *testing.T) {
	server := httptest.NewServer(http.FileServer(http.Dir(corpus)))
	defer server.Close()
	blobs, err := store.Open(t.TempDir(), store.Options{MinFreeBytes: -1})
	if err != nil {
		t.Fatal(err)
	}
	fetcher := fetch.New(fetch.Options{AllowLoopback: true, Attempts: 1})
	defer fetcher.Close()
	imports, err := importer.New(importer.Options{Store: blobs, Fetcher: fetcher})
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range manifest(t) {
		t.Run(row["file"], func(t *testing.T) {
			v, _ := inspected(t, filepath.Join(corpus, row["file"]), "--format", row["declared_format"], "--hypervisor", row["hypervisor"])
			command := judgement{Reject: v.Verdict == inspect.Reject, Reason: v.Reason}
			if !command.Reject {
				command = judgement{
					Format: v.Format, Compression: v.Compression, VirtualSizeBytes: v.VirtualSizeBytes,
					Download: v.DownloadDigest, Content: v.ContentDigest, Warnings: v.Warnings,
				}
			}
			res, err := imports.Import(t.Context(), importer.Spec{
				URLs:     []string{server.URL + "/" + row["file"]},
				Checksum: importer.Checksum{Digest: &artifact.Digest{Algorithm: artifact.SHA256, Hex: row["sha256"]}},
				Format:   artifact.Format(row["declared_format"]), Hypervisor: row["hypervisor"],
				Limits: artifact.Limits{MaxOutputBytes: 128 << 20},
			}, nil)
			imported := judgement{Reject: err != nil, Reason: artifact.CodeOf(err)}
			if err == nil {
				imported = judgement{
					Format: res.Format, Compression: res.Compression, VirtualSizeBytes: res.VirtualSizeBytes,
					Download: res.DownloadDigest.String(), Content: res.ContentDigest.String(), Warnings: res.Warnings,
				}
			}
			for _, j := range []*judgement{&command, &imported} {
				slices.SortFunc(j.Warnings, func(a, b inspect.Finding) int { return cmp.Compare(a.Code, b.Code) })
				if len(j.Warnings) == 0 {
					j.Warnings = nil
				}
			}
			if diff := gocmp.Diff(imported, command); diff != "" {
				t.Errorf("(-importer +command):\n%s", diff)
			}
		})
	}
}
