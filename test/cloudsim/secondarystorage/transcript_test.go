package secondarystorage

import (
	"archive/tar"
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ulikunitz/xz"
)

const (
	transcript = "../testdata/transcripts/60-secondary-storage.jsonl"
	archive    = "../testdata/storage-files.tar.xz"
	corpus     = "../../corpus"
)

// line is one line of the transcript.
type line struct {
	Area, Name, URL, Format, Server, Via, Note, Checksum, Transport string
	Credentials                                                     bool
	MaxBytes                                                        *int64            `json:"max_bytes"`
	FollowRedirects                                                 bool              `json:"follow_redirects"`
	FinalState                                                      string            `json:"final_state"`
	ErrorText                                                       string            `json:"error_text"`
	Thrown                                                          string            `json:"thrown"`
	CommandSent                                                     string            `json:"command_sent"`
	InstallPath                                                     string            `json:"install_path"`
	ChecksumAnswer                                                  string            `json:"checksum_answer"`
	InstalledSHA256                                                 string            `json:"installed_sha256"`
	Percent                                                         int               `json:"percent"`
	VirtualSize                                                     int64             `json:"virtual_size"`
	PhysicalSize                                                    int64             `json:"physical_size"`
	StillRunning                                                    int               `json:"still_running_after_ms"`
	Properties                                                      map[string]string `json:"template_properties"`
	FirstAnswer                                                     struct {
		State        string `json:"state"`
		PhysicalSize int64  `json:"physicalSize"`
	} `json:"first_answer"`
	Requests []request `json:"requests"`
	Response *struct {
		StatusLine string   `json:"status_line"`
		Headers    []string `json:"headers"`
		Body       string   `json:"body"`
	} `json:"response"`
	Seen        map[string]int `json:"seen"`
	StatusAfter *struct {
		Status          string `json:"status"`
		Details         string `json:"details"`
		VirtualSize     int64  `json:"virtualSize"`
		PhysicalSize    int64  `json:"physicalSize"`
		DownloadPercent int    `json:"downloadPercent"`
	} `json:"status_after"`
}

// request is one that reached the image server.
type request struct {
	Method  string      `json:"method"`
	Target  string      `json:"target"`
	Version string      `json:"version"`
	Headers [][2]string `json:"headers"`
	TLS     bool        `json:"tls"`
}

func readTranscript(t *testing.T) []line {
	t.Helper()
	f, err := os.Open(transcript)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var lines []line
	s := bufio.NewScanner(f)
	s.Buffer(nil, 16<<20)
	for s.Scan() {
		var l line
		if err := json.Unmarshal(s.Bytes(), &l); err != nil {
			t.Fatalf("line %d: %v", len(lines)+1, err)
		}
		lines = append(lines, l)
	}
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
	return lines
}

// unpackFiles writes the files that the transcript names, and those that must be made first, to a directory.
func unpackFiles(t *testing.T) string {
	t.Helper()
	f, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	xr, err := xz.NewReader(bufio.NewReader(f))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for tr := tar.NewReader(xr); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Typeflag != tar.TypeReg || strings.Contains(strings.TrimPrefix(h.Name, "./"), "/") {
			continue
		}
		out, err := os.Create(filepath.Join(dir, filepath.Base(h.Name)))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(out, tr); err != nil {
			t.Fatal(err)
		}
		if err := out.Close(); err != nil {
			t.Fatal(err)
		}
	}
	makeFiles(t, dir)
	return dir
}
