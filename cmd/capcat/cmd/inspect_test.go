package cmd

import (
	"bytes"
	"encoding/json"
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/capcat/capcat/imagecatalog/artifact"
	"github.com/capcat/capcat/imagecatalog/artifact/inspect"
)

const corpus = "../../../test/corpus"

var update = flag.Bool("update", false, "write the golden files")

// capcat runs a command line with a temporary directory of its own, which has to be empty afterwards.
func capcat(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	var out, errs bytes.Buffer
	code = Execute(t.Context(), args, &out, &errs)
	left, err := os.ReadDir(tmp)
	if err != nil {
		t.Fatal(err)
	}
	if len(left) > 0 {
		t.Errorf("capcat %s left %v behind", strings.Join(args, " "), left)
	}
	return out.String(), errs.String(), code
}

func inspected(t *testing.T, args ...string) (verdict, int) {
	t.Helper()
	stdout, stderr, code := capcat(t, append([]string{"inspect", "-o", "json", "--max-output", "128Mi"}, args...)...)
	var v verdict
	if err := json.Unmarshal([]byte(stdout), &v); err != nil {
		t.Fatalf("exit %d, %q, %q: %v", code, stdout, stderr, err)
	}
	return v, code
}

func manifest(t *testing.T) []map[string]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(corpus, "MANIFEST.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	var rows []map[string]string
	for _, line := range lines[1:] {
		row := map[string]string{}
		for i, cell := range strings.Split(line, "\t") {
			row[strings.Split(lines[0], "\t")[i]] = strings.TrimPrefix(cell, "-")
		}
		rows = append(rows, row)
	}
	return rows
}

func TestInspectCorpus(t *testing.T) {
	for _, row := range manifest(t) {
		t.Run(row["file"], func(t *testing.T) {
			v, code := inspected(t, filepath.Join(corpus, row["file"]), "--format", row["declared_format"], "--hypervisor", row["hypervisor"])
			if want := map[string]int{"reject": exitRejected}[row["verdict"]]; code != want {
				t.Errorf("exit %d, want %d", code, want)
			}
			reason := artifact.Code(row["reason_code"])
			switch {
			case row["verdict"] == "reject" && (v.Verdict != inspect.Reject || v.Reason != reason):
				t.Errorf("%s %s, want reject %s", v.Verdict, v.Reason, reason)
			case row["verdict"] == "warn" && !slices.ContainsFunc(v.Warnings, func(f inspect.Finding) bool { return f.Code == reason }):
				t.Errorf("%v, want a warning %s", v.Warnings, reason)
			case row["verdict"] == "accept" && v.Verdict == inspect.Reject:
				t.Errorf("rejected: %s", v.Message)
			}
			if v.DownloadDigest != "sha256:"+row["sha256"] {
				t.Errorf("download digest %s", v.DownloadDigest)
			}
			content := row["decompressed_sha256"]
			if content == "" {
				content = row["sha256"]
			}
			if row["verdict"] != "reject" && v.ContentDigest != "sha256:"+content {
				t.Errorf("content digest %s", v.ContentDigest)
			}
		})
	}
}

func TestInspectGolden(t *testing.T) {
	for name, args := range map[string][]string{
		"accept.txt":  {"node.qcow2.xz"},
		"warn.txt":    {"ova-mf-sha1.ova"},
		"reject.txt":  {"qcow2-backing-v3.qcow2"},
		"accept.json": {"node.qcow2.xz", "-o", "json"},
		"warn.json":   {"ova-mf-sha1.ova", "-o", "json"},
		"reject.json": {"truncated.qcow2.bz2", "-o", "json"},
	} {
		t.Run(name, func(t *testing.T) {
			args[0] = filepath.Join(corpus, args[0])
			got, _, _ := capcat(t, append([]string{"inspect"}, args...)...)
			path := filepath.Join("testdata", name)
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestInspectAddress(t *testing.T) {
	mux := http.NewServeMux()
	mux.Handle("/", http.FileServer(http.Dir(corpus)))
	mux.HandleFunc("/login.qcow2", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<html>log in</html>"))
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	for name, c := range map[string]struct {
		args []string
		exit int
		code artifact.Code
	}{
		"good":                 {[]string{"/node-big.qcow2.bz2"}, 0, ""},
		"sums list":            {[]string{"/node-big.qcow2.bz2", "--checksum", server.URL + "/sums/SHA256SUMS"}, 0, ""},
		"stale sums list":      {[]string{"/qcow2-v3.qcow2", "--checksum", server.URL + "/sums/SHA256SUMS.stale"}, 2, artifact.ChecksumMismatch},
		"sums list without it": {[]string{"/qcow2-v3.qcow2", "--checksum", server.URL + "/sums/SHA256SUMS.other"}, 2, artifact.NoEntry},
		"sums list is HTML":    {[]string{"/qcow2-v3.qcow2", "--checksum", server.URL + "/sums/html.sha256"}, 2, artifact.NotAChecksumFile},
		"sums list is a page":  {[]string{"/qcow2-v3.qcow2", "--checksum", server.URL + "/login.qcow2"}, 2, artifact.NotAChecksumFile},
		"weak":                 {[]string{"/qcow2-v3.qcow2", "--checksum", server.URL + "/sums/gnu.md5"}, 2, artifact.WeakAlgorithm},
		"weak, allowed":        {[]string{"/qcow2-v3.qcow2", "--allow-weak", "--checksum", server.URL + "/sums/gnu.md5"}, 0, ""},
		"hostile":              {[]string{"/qcow2-backing-v3.qcow2"}, 2, artifact.BackingFile},
		"broken stream":        {[]string{"/truncated.qcow2.bz2"}, 2, artifact.TruncatedStream},
		"login page":           {[]string{"/login.qcow2"}, 2, artifact.NotAnImage},
	} {
		t.Run(name, func(t *testing.T) {
			c.args[0] = server.URL + c.args[0]
			v, exit := inspected(t, c.args...)
			if exit != c.exit || v.Reason != c.code {
				t.Errorf("exit %d, %s %q; want %d, %q", exit, v.Reason, v.Message, c.exit, c.code)
			}
		})
	}
	for _, args := range [][]string{{server.URL + "/gone.qcow2"}, {server.URL + "/node.img", "--checksum", server.URL + "/gone"}, {"ftp://192.0.2.1/x"}} {
		if stdout, stderr, exit := capcat(t, append([]string{"inspect", "-o", "json"}, args...)...); exit != 1 || stdout != "" || stderr == "" {
			t.Errorf("%v: exit %d, %q, %q", args, exit, stdout, stderr)
		}
	}
}

func TestInspectLocalChecksum(t *testing.T) {
	const good = "eb42396797dfb8bb6ebe69cfeff5cb83f1d54ae5e0ac8d16b4e7eb2b661382e0"
	sums, err := filepath.Abs(filepath.Join(corpus, "sums", "SHA256SUMS"))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		checksum string
		code     artifact.Code
	}{
		"right":             {"sha256:" + good, ""},
		"right, upper case": {"SHA-256:" + strings.ToUpper(good), ""},
		"wrong":             {"sha256:" + strings.Repeat("0", 64), artifact.ChecksumMismatch},
		"wrong sha512":      {"sha512:" + strings.Repeat("0", 128), artifact.ChecksumMismatch},
		"weak":              {"md5:2809f4cbb0531c26b14e8b4addc12771", artifact.WeakAlgorithm},
		"list beside":       {"file://" + sums, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if v, _ := inspected(t, filepath.Join(corpus, "node.img"), "--checksum", c.checksum); v.Reason != c.code {
				t.Errorf("%s %q, want %q", v.Reason, v.Message, c.code)
			}
		})
	}
	// What is wrong with the content does not hide that it is not the file that was wanted.
	if v, _ := inspected(t, filepath.Join(corpus, "bitflip.qcow2.bz2"), "--checksum", "sha256:"+good); v.Reason != artifact.ChecksumMismatch {
		t.Errorf("%s %q", v.Reason, v.Message)
	}
}

func TestInspectLimits(t *testing.T) {
	raw := filepath.Join(corpus, "raw-disk.raw.gz")
	for _, c := range []struct {
		args []string
		code artifact.Code
	}{
		{[]string{"--max-output", "4Mi"}, ""},
		{[]string{"--max-output", "4194303"}, artifact.DecompressionBomb},
		{[]string{"--max-output", "4M"}, artifact.DecompressionBomb},
		{[]string{"--max-output", "4MiB"}, ""},
		{[]string{"--max-output", "4MB"}, artifact.DecompressionBomb},
		{[]string{"--max-virtual-size", "4Mi"}, ""},
		{[]string{"--max-virtual-size", "4194303"}, artifact.VirtualSizeTooLarge},
	} {
		if v, _ := inspected(t, append([]string{raw}, c.args...)...); v.Reason != c.code {
			t.Errorf("%v: %s %q, want %q", c.args, v.Reason, v.Message, c.code)
		}
	}
}

func TestInspectUsage(t *testing.T) {
	file := filepath.Join(corpus, "node.img")
	for _, args := range [][]string{
		{}, {file, file}, {"nothing-here"}, {corpus}, {file, "--format", "ISO"}, {file, "--hypervisor", "Bochs"}, {file, "-o", "yaml"},
		{file, "--max-output", "much"}, {file, "--max-output", "4B"}, {file, "--max-output", "GiB"}, {file, "--max-output", "0"}, {file, "--max-virtual-size", "-1"},
		{file, "--checksum", "abc"}, {file, "--checksum", "crc32:12345678"}, {file, "--checksum", "sha256:abcd"}, {file, "--unknown"},
	} {
		if stdout, stderr, code := capcat(t, append([]string{"inspect"}, args...)...); code != 1 || stdout != "" || stderr == "" {
			t.Errorf("%v: exit %d, %q, %q", args, code, stdout, stderr)
		}
	}
}
