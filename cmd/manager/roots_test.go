package main

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/capcat/capcat/imagecatalog/artifact"
	"github.com/capcat/capcat/imagecatalog/artifact/fetch"
)

func TestFetchCAFile(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("sums")) }))
	defer server.Close()
	write := func(name string, data []byte) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	for name, c := range map[string]struct {
		file string
		want string        // part of the error about the flag
		code artifact.Code // of a fetch
	}{
		"no file":                {code: artifact.SourceTLS},
		"the server's authority": {file: write("ca.pem", authority)},
		"no certificate":         {file: write("key.pem", []byte("-----BEGIN NOTHING-----")), want: "no certificate"},
		"a missing file":         {file: filepath.Join(t.TempDir(), "none"), want: "--fetch-ca-file"},
	} {
		t.Run(name, func(t *testing.T) {
			o := pipelineOptions{caFile: c.file}
			roots, err := o.rootCAs()
			if (err != nil) != (c.want != "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Fatalf("rootCAs: %v, want %q", err, c.want)
			}
			if err != nil {
				return
			}
			f := fetch.New(fetch.Options{AllowLoopback: true, RootCAs: roots, Attempts: 1})
			defer f.Close()
			if _, err := f.Small(t.Context(), server.URL, 1<<10); artifact.CodeOf(err) != c.code {
				t.Errorf("fetching: %v, want code %q", err, c.code)
			}
		})
	}
}
