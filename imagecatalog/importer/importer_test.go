package importer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/capcat/capcat/imagecatalog/artifact"
	"github.com/capcat/capcat/imagecatalog/artifact/fetch"
	"github.com/capcat/capcat/imagecatalog/artifact/inspect"
	"github.com/capcat/capcat/imagecatalog/artifact/store"
	"github.com/google/go-cmp/cmp"
	clocktesting "k8s.io/utils/clock/testing"
)

var corpusDir = filepath.Join("..", "..", "test", "corpus")

func corpusFile(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(corpusDir, name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func digestOf(a artifact.Algorithm, data []byte) *artifact.Digest {
	h := a.New()
	h.Write(data)
	d := artifact.DigestOf(a, h)
	return &d
}

// origin serves files by name and counts what it is asked for.
type origin struct {
	*httptest.Server

	mu    sync.Mutex
	files map[string]http.HandlerFunc
	asked map[string]int
}

func newOrigin(t *testing.T) *origin {
	t.Helper()
	o := &origin{files: map[string]http.HandlerFunc{}, asked: map[string]int{}}
	o.Server = httptest.NewServer(o)
	t.Cleanup(o.Close)
	return o
}

func (o *origin) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	o.mu.Lock()
	o.asked[r.URL.Path]++
	h := o.files[r.URL.Path]
	o.mu.Unlock()
	if h == nil {
		http.NotFound(w, r)
		return
	}
	h(w, r)
}

func (o *origin) handle(name string, h http.HandlerFunc) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.files["/"+name] = h
	return o.URL + "/" + name
}

func (o *origin) file(name string, data []byte) string {
	return o.handle(name, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"`+digestOf(artifact.MD5, data).Hex+`"`)
		http.ServeContent(w, r, "x", time.Time{}, bytes.NewReader(data))
	})
}

func (o *origin) requests(name string) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.asked["/"+name]
}

type options struct {
	dir   string
	store store.Options
	Options
}

func newImporter(t *testing.T, o options) *Importer {
	t.Helper()
	if o.store.MinFreeBytes == 0 {
		o.store.MinFreeBytes = -1
	}
	blobs, err := store.Open(o.dir, o.store)
	if err != nil {
		t.Fatal(err)
	}
	f := fetch.New(fetch.Options{AllowLoopback: true, Attempts: 2, Backoff: time.Millisecond})
	t.Cleanup(f.Close)
	o.Options.Store, o.Options.Fetcher = blobs, f
	i, err := New(o.Options)
	if err != nil {
		t.Fatal(err)
	}
	return i
}

// leftIn lists the store: names shortened to what they are.
func leftIn(t *testing.T, dir string) []string {
	t.Helper()
	left := []string{}
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			left = append(left, filepath.Base(path))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return left
}

var corpusLimits = artifact.Limits{MaxOutputBytes: 128 << 20, MaxVirtualSizeBytes: 1 << 40}

// TestCorpus imports every image of the corpus and holds the outcome against the manifest.
func TestCorpus(t *testing.T) {
	t.Parallel()
	server := newOrigin(t)
	for i, line := range strings.Split(strings.TrimSpace(string(corpusFile(t, "MANIFEST.tsv"))), "\n") {
		col := strings.Split(line, "\t")
		if i == 0 {
			continue
		}
		name, format, hypervisor, sha, verdict, reason, content := col[0], col[1], col[2], col[4], col[7], col[8], col[10]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			spec := Spec{
				URLs:     []string{server.file(name, corpusFile(t, name))},
				Checksum: Checksum{Digest: &artifact.Digest{Algorithm: artifact.SHA256, Hex: sha}},
				Format:   artifact.Format(format), Hypervisor: strings.Trim(hypervisor, "-"), Limits: corpusLimits,
			}
			res, err := newImporter(t, options{dir: dir}).Import(t.Context(), spec, nil)
			if verdict == "reject" {
				if got := artifact.CodeOf(err); string(got) != reason || artifact.RetryOf(err) != artifact.RetryNever {
					t.Errorf("error %v, want %s", err, reason)
				}
				if left := leftIn(t, dir); len(left) != 0 {
					t.Errorf("left behind: %v", left)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if res.DownloadDigest.Hex != sha || (content != "-" && res.ContentDigest.Hex != content) {
				t.Errorf("digests %v, %v", res.DownloadDigest, res.ContentDigest)
			}
			if verdict == "warn" && !slices.ContainsFunc(res.Warnings, func(f inspect.Finding) bool { return string(f.Code) == reason }) {
				t.Errorf("warnings %v, want %s", res.Warnings, reason)
			}
			checkBlobs(t, dir, res)
		})
	}
}

// checkBlobs wants both blobs to be what they are named after, and no partial file.
func checkBlobs(t *testing.T, dir string, res Result) {
	t.Helper()
	for d, size := range map[artifact.Digest]int64{res.DownloadDigest: res.DownloadBytes, res.ContentDigest: res.ContentBytes} {
		data, err := os.ReadFile(filepath.Join(dir, "blobs", "sha256", d.Hex))
		if err != nil || *digestOf(artifact.SHA256, data) != d || int64(len(data)) != size {
			t.Errorf("blob %s of %d bytes: %d bytes, %v", d, size, len(data), err)
		}
	}
	for _, name := range leftIn(t, dir) {
		if strings.Contains(name, ".partial") {
			t.Errorf("left behind: %s", name)
		}
	}
}

func TestChecksumRules(t *testing.T) {
	t.Parallel()
	const name = "qcow2-v3.qcow2"
	data := corpusFile(t, name)
	server := newOrigin(t)
	url := server.file(name, data)
	side := func(file, text string) string { return server.file(file, []byte(text)) }
	sha, md := digestOf(artifact.SHA256, data), digestOf(artifact.MD5, data)
	listed := func(d *artifact.Digest) string { return d.Hex + "  " + name + "\n" }
	tests := map[string]struct {
		checksum Checksum
		weak     bool
		code     artifact.Code
		text     string
	}{
		"none":                      {code: artifact.NoChecksum},
		"two":                       {checksum: Checksum{Digest: sha, InsecureSkip: true}, code: artifact.BadChecksumForm},
		"malformed":                 {checksum: Checksum{Digest: &artifact.Digest{Algorithm: artifact.SHA256, Hex: "abc"}}, code: artifact.BadChecksumForm},
		"sha256":                    {checksum: Checksum{Digest: sha}},
		"sha512":                    {checksum: Checksum{Digest: digestOf(artifact.SHA512, data)}},
		"sha224":                    {checksum: Checksum{Digest: digestOf(artifact.SHA224, data)}},
		"upper case":                {checksum: Checksum{Digest: &artifact.Digest{Algorithm: artifact.SHA256, Hex: strings.ToUpper(sha.Hex)}}},
		"wrong":                     {checksum: Checksum{Digest: digestOf(artifact.SHA256, nil)}, code: artifact.ChecksumMismatch},
		"md5":                       {checksum: Checksum{Digest: md}, code: artifact.WeakAlgorithm},
		"md5, allowed":              {checksum: Checksum{Digest: md, AllowWeak: true}, weak: true},
		"sha1, allowed":             {checksum: Checksum{Digest: digestOf(artifact.SHA1, data), AllowWeak: true}, weak: true},
		"sha256, weak allowed":      {checksum: Checksum{Digest: sha, AllowWeak: true}},
		"skipped":                   {checksum: Checksum{InsecureSkip: true}, weak: true},
		"side file":                 {checksum: Checksum{URL: side("a.sha256", listed(sha))}},
		"side file, md5":            {checksum: Checksum{URL: side("a.md5", listed(md))}, code: artifact.WeakAlgorithm},
		"side file, md5, allowed":   {checksum: Checksum{URL: side("b.md5", listed(md)), AllowWeak: true}, weak: true},
		"side file, both":           {checksum: Checksum{URL: side("both", listed(md)+listed(sha))}},
		"side file, md5 asked":      {checksum: Checksum{URL: side("both2", listed(md)+listed(sha)), Algorithm: artifact.MD5, AllowWeak: true}, weak: true},
		"side file, stale":          {checksum: Checksum{URL: side("stale", listed(digestOf(artifact.SHA256, nil)))}, code: artifact.ChecksumMismatch},
		"side file of others":       {checksum: Checksum{URL: side("others", sha.Hex+"  other.qcow2\n")}, code: artifact.NoEntry},
		"side file is a page":       {checksum: Checksum{URL: side("page", "<!doctype html><p>"+sha.Hex)}, code: artifact.NotAChecksumFile},
		"side file is empty":        {checksum: Checksum{URL: side("empty", "")}, code: artifact.NotAChecksumFile},
		"side file is huge":         {checksum: Checksum{URL: side("huge", listed(sha)+strings.Repeat("#\n", 1<<20))}, code: artifact.NotAChecksumFile},
		"side file is missing":      {checksum: Checksum{URL: server.URL + "/none?sig=secret"}, code: artifact.SourceMissing, text: "checksum file"},
		"side file has another URL": {checksum: Checksum{URL: "git::x"}, code: artifact.InvalidURL},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			res, err := newImporter(t, options{dir: dir}).Import(t.Context(), Spec{URLs: []string{url}, Checksum: tc.checksum}, nil)
			if artifact.CodeOf(err) != tc.code || (err != nil) != (tc.code != "") {
				t.Fatalf("error %v, want %q", err, tc.code)
			}
			if err == nil {
				if res.WeakChecksum != tc.weak || res.DownloadDigest != *sha {
					t.Errorf("result %+v", res)
				}
				return
			}
			if !strings.Contains(err.Error(), tc.text) || strings.Contains(err.Error(), "secret") {
				t.Errorf("message %v", err)
			}
			if left := leftIn(t, dir); len(left) != 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// TestRestartNeedsNoNetwork imports twice, with everything but the store new.
func TestRestartNeedsNoNetwork(t *testing.T) {
	t.Parallel()
	const name = "node.qcow2.xz"
	data := corpusFile(t, name)
	sha := digestOf(artifact.SHA256, data)
	tests := map[string]struct {
		checksum func(*origin) Checksum
		later    time.Duration
		asked    int // requests for the image in all
		side     int // and for the side file
	}{
		"by digest":                {checksum: func(*origin) Checksum { return Checksum{Digest: sha} }, later: 1000 * time.Hour, asked: 1},
		"by side file":             {checksum: sideFile(sha, name), later: time.Minute, asked: 1, side: 1},
		"by side file, days later": {checksum: sideFile(sha, name), later: 48 * time.Hour, asked: 1, side: 2},
		"unproven":                 {checksum: func(*origin) Checksum { return Checksum{InsecureSkip: true} }, later: time.Minute, asked: 1},
		"unproven, days later":     {checksum: func(*origin) Checksum { return Checksum{InsecureSkip: true} }, later: 48 * time.Hour, asked: 2},
		"weak":                     {checksum: func(*origin) Checksum { return Checksum{Digest: digestOf(artifact.MD5, data), AllowWeak: true} }, later: 48 * time.Hour, asked: 1},
	}
	for what, tc := range tests {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			server, dir := newOrigin(t), t.TempDir()
			clock := clocktesting.NewFakeClock(time.Now())
			spec := Spec{URLs: []string{server.file(name, data)}, Checksum: tc.checksum(server), Hypervisor: "KVM"}
			var dones []Done
			o := options{dir: dir, Options: Options{Clock: clock, Done: func(d Done) { dones = append(dones, d) }}}
			first, err := newImporter(t, o).Import(t.Context(), spec, nil)
			if err != nil {
				t.Fatal(err)
			}
			clock.Step(tc.later)
			second, err := newImporter(t, o).Import(t.Context(), spec, nil)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(first, second); diff != "" {
				t.Errorf("results (-first +second):\n%s", diff)
			}
			if server.requests(name) != tc.asked || server.requests("sums") != tc.side {
				t.Errorf("%d and %d requests", server.requests(name), server.requests("sums"))
			}
			if len(dones) != 2 || dones[0].Reused || dones[1].Reused != (tc.asked == 1) {
				t.Errorf("ends %+v", dones)
			}
		})
	}
}

func sideFile(d *artifact.Digest, name string) func(*origin) Checksum {
	return func(o *origin) Checksum { return Checksum{URL: o.file("sums", []byte(d.Hex+"  "+name+"\n"))} }
}

// TestReuseUnderOtherRules holds known content against a spec that wants something else of it.
func TestReuseUnderOtherRules(t *testing.T) {
	t.Parallel()
	const name = "node.qcow2.xz"
	data := corpusFile(t, name)
	server := newOrigin(t)
	i := newImporter(t, options{dir: t.TempDir()})
	base := Spec{URLs: []string{server.file(name, data)}, Checksum: Checksum{Digest: digestOf(artifact.SHA256, data)}}
	if _, err := i.Import(t.Context(), base, nil); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		change func(*Spec)
		code   artifact.Code
	}{
		"right format":      {func(s *Spec) { s.Format = artifact.QCOW2 }, ""},
		"another format":    {func(s *Spec) { s.Format = artifact.VHD }, artifact.FormatMismatch},
		"another mirror":    {func(s *Spec) { s.URLs = []string{server.URL + "/other"} }, ""},
		"tight download":    {func(s *Spec) { s.Limits.MaxDownloadBytes = 10 }, artifact.TooLarge},
		"tight output":      {func(s *Spec) { s.Limits.MaxOutputBytes = 10 }, artifact.DecompressionBomb},
		"tight disk":        {func(s *Spec) { s.Limits.MaxVirtualSizeBytes = 512 }, artifact.VirtualSizeTooLarge},
		"weak digest of it": {func(s *Spec) { s.Checksum = Checksum{Digest: digestOf(artifact.MD5, data), AllowWeak: true} }, ""},
	}
	for what, tc := range tests {
		spec := base
		tc.change(&spec)
		if _, err := i.Import(t.Context(), spec, nil); artifact.CodeOf(err) != tc.code {
			t.Errorf("%s: %v, want %q", what, err, tc.code)
		}
	}
	if _, err := i.Import(t.Context(), base, nil); err != nil {
		t.Errorf("after refusals: %v", err)
	}
	if got := server.requests(name); got != 2 { // the weak digest is another source
		t.Errorf("%d requests", got)
	}
}

// TestOneDownload lets many callers of two importers, as of two processes, want one image at the same time.
func TestOneDownload(t *testing.T) {
	t.Parallel()
	const name = "node-big.qcow2.bz2"
	data := corpusFile(t, name)
	server, dir := newOrigin(t), t.TempDir()
	plain := Spec{URLs: []string{server.file(name, data)}, Checksum: Checksum{Digest: digestOf(artifact.SHA256, data)}}
	other := plain
	other.Hypervisor = "KVM"
	listed := plain
	listed.Checksum = sideFile(digestOf(artifact.SHA256, data), name)(server)
	var wg sync.WaitGroup
	for _, i := range []*Importer{newImporter(t, options{dir: dir}), newImporter(t, options{dir: dir})} {
		for _, spec := range []Spec{plain, plain, other, listed} {
			wg.Go(func() {
				var phases []Phase
				res, err := i.Import(t.Context(), spec, func(p Progress) { phases = append(phases, p.Phase) })
				if err != nil || res.DownloadBytes != int64(len(data)) || len(phases) == 0 {
					t.Errorf("result %+v, phases %v, error %v", res, phases, err)
				}
			})
		}
	}
	wg.Wait()
	if got := server.requests(name); got != 1 {
		t.Errorf("%d downloads", got)
	}
}

// TestStopAndResume stops the only caller in the middle, as a dying process would, and goes on with a new Importer.
func TestStopAndResume(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"node-big.qcow2.bz2", "qcow2-v3.qcow2"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := corpusFile(t, name)
			half := len(data) / 2
			server, dir := newOrigin(t), t.TempDir()
			spec := Spec{Checksum: Checksum{Digest: digestOf(artifact.SHA256, data)}}
			spec.URLs = []string{server.handle(name, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("ETag", `"v1"`)
				w.Header().Set("Content-Length", fmt.Sprint(len(data)))
				w.Write(data[:half])
				w.(http.Flusher).Flush()
				<-r.Context().Done()
			})}
			ctx, cancel := context.WithCancel(t.Context())
			clock := clocktesting.NewFakeClock(time.Now())
			_, err := newImporter(t, options{dir: dir, Options: Options{Clock: clock}}).Import(ctx, spec, func(p Progress) {
				clock.Step(time.Second) // so that every count is reported
				if p.Bytes == int64(half) {
					cancel()
				}
			})
			if artifact.CodeOf(err) != artifact.Canceled || !errors.Is(err, context.Canceled) {
				t.Fatalf("error %v", err)
			}
			left := strings.Join(leftIn(t, dir), " ")
			if !strings.Contains(left, ".download.partial ") || strings.Contains(left, ".content.partial") {
				t.Errorf("left behind: %v", left)
			}
			var ranges []string
			server.handle(name, func(w http.ResponseWriter, r *http.Request) {
				ranges = append(ranges, r.Header.Get("Range"))
				w.Header().Set("ETag", `"v1"`)
				http.ServeContent(w, r, "x", time.Time{}, bytes.NewReader(data))
			})
			res, err := newImporter(t, options{dir: dir}).Import(t.Context(), spec, nil)
			if err != nil {
				t.Fatal(err)
			}
			checkBlobs(t, dir, res)
			if diff := cmp.Diff([]string{fmt.Sprintf("bytes=%d-", half)}, ranges); diff != "" {
				t.Errorf("ranges (-want +got):\n%s", diff)
			}
		})
	}
}

// TestOneOfTwoLeaves goes on for the one who stays.
func TestOneOfTwoLeaves(t *testing.T) {
	t.Parallel()
	const name = "qcow2-v3.qcow2"
	data := corpusFile(t, name)
	server := newOrigin(t)
	arrived, goOn := make(chan struct{}), make(chan struct{})
	url := server.handle(name, func(w http.ResponseWriter, r *http.Request) {
		close(arrived)
		<-goOn
		http.ServeContent(w, r, "x", time.Time{}, bytes.NewReader(data))
	})
	spec := Spec{URLs: []string{url}, Checksum: Checksum{Digest: digestOf(artifact.SHA256, data)}}
	i := newImporter(t, options{dir: t.TempDir()})
	ctx, leave := context.WithCancel(t.Context())
	first := make(chan error, 1)
	go func() {
		_, err := i.Import(ctx, spec, nil)
		first <- err
	}()
	<-arrived
	joined := make(chan struct{})
	var once sync.Once
	second := make(chan error, 1)
	go func() {
		_, err := i.Import(t.Context(), spec, func(Progress) { once.Do(func() { close(joined) }) })
		second <- err
	}()
	<-joined
	leave()
	if err := <-first; artifact.CodeOf(err) != artifact.Canceled {
		t.Errorf("who left: %v", err)
	}
	close(goOn)
	if err := <-second; err != nil {
		t.Errorf("who stayed: %v", err)
	}
}

// TestMirrorsAndContent tells a mirror with wrong bytes from a source whose bytes are wrong.
func TestMirrorsAndContent(t *testing.T) {
	t.Parallel()
	server := newOrigin(t)
	good, truncated, flipped := corpusFile(t, "node.qcow2.xz"), corpusFile(t, "truncated.qcow2.bz2"), corpusFile(t, "bitflip.qcow2.bz2")
	page := server.handle("page", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "<html>") })
	tests := map[string]struct {
		urls []string
		sum  Checksum
		code artifact.Code
	}{
		"corrupt mirror, then a good one":    {[]string{server.file("flip", flipped), server.file("good", good)}, Checksum{Digest: digestOf(artifact.SHA256, good)}, ""},
		"page, then a good one":              {[]string{page, server.file("good", good)}, Checksum{Digest: digestOf(artifact.SHA256, good)}, ""},
		"corrupt mirrors only":               {[]string{server.file("flip", flipped), server.file("cut", truncated)}, Checksum{Digest: digestOf(artifact.SHA256, good)}, artifact.ChecksumMismatch},
		"corrupt as the digest says":         {[]string{server.file("flip", flipped)}, Checksum{Digest: digestOf(artifact.SHA256, flipped)}, artifact.CorruptStream},
		"truncated as the digest says":       {[]string{server.file("cut", truncated)}, Checksum{Digest: digestOf(artifact.SHA256, truncated)}, artifact.TruncatedStream},
		"unproven and corrupt":               {[]string{server.file("flip", flipped)}, Checksum{InsecureSkip: true}, artifact.CorruptStream},
		"unproven and shorter than a magic":  {[]string{server.file("tiny", []byte("BZ"))}, Checksum{InsecureSkip: true, AllowWeak: true}, ""},
		"unproven and a bare compress magic": {[]string{server.file("magic", []byte("BZh9xx"))}, Checksum{InsecureSkip: true}, ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			res, err := newImporter(t, options{dir: dir}).Import(t.Context(), Spec{URLs: tc.urls, Checksum: tc.sum, Limits: corpusLimits}, nil)
			if strings.HasPrefix(name, "unproven and ") && tc.code == "" {
				tc.code = artifact.CodeOf(err) // any code will do, as long as it is refused
			}
			if artifact.CodeOf(err) != tc.code || (tc.code == "") != (err == nil) {
				t.Fatalf("error %v, want %q", err, tc.code)
			}
			if err == nil {
				checkBlobs(t, dir, res)
				return
			}
			if left := leftIn(t, dir); len(left) != 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

func TestFullDisk(t *testing.T) {
	t.Parallel()
	const name = "bomb.raw.bz2"
	data := corpusFile(t, name)
	server, dir := newOrigin(t), t.TempDir()
	free := int64(100)
	o := options{dir: dir, store: store.Options{MinFreeBytes: -1, FreeBytes: func(string) (int64, error) { return free, nil }}}
	spec := Spec{URLs: []string{server.file(name, data)}, Checksum: Checksum{Digest: digestOf(artifact.SHA256, data)}}
	_, err := newImporter(t, o).Import(t.Context(), spec, nil)
	if artifact.CodeOf(err) != artifact.NoSpace || artifact.RetryOf(err) != artifact.RetryBackoff {
		t.Errorf("before the download: %v", err)
	}
	free = 1 << 20
	_, err = newImporter(t, o).Import(t.Context(), spec, nil)
	if artifact.CodeOf(err) != artifact.NoSpace || artifact.RetryOf(err) != artifact.RetryBackoff {
		t.Errorf("while expanding: %v", err)
	}
	for _, left := range leftIn(t, dir) {
		if strings.Contains(left, ".content.partial") {
			t.Errorf("left behind: %s", left)
		}
	}
}

func TestProgress(t *testing.T) {
	t.Parallel()
	const name = "node-big.qcow2.bz2"
	data := corpusFile(t, name)
	server := newOrigin(t)
	spec := Spec{URLs: []string{server.file(name, data)}, Checksum: Checksum{Digest: digestOf(artifact.SHA256, data)}}
	clock := clocktesting.NewFakeClock(time.Now())
	var all []Progress
	_, err := newImporter(t, options{dir: t.TempDir(), Options: Options{Clock: clock}}).Import(t.Context(), spec, func(p Progress) {
		all = append(all, p)
		clock.Step(time.Second)
	})
	if err != nil {
		t.Fatal(err)
	}
	var phases []Phase
	var last Progress
	fast := false
	for _, p := range all {
		if len(phases) == 0 || phases[len(phases)-1] != p.Phase {
			phases = append(phases, p.Phase)
		}
		if p.Bytes < last.Bytes {
			t.Errorf("goes back from %d to %d", last.Bytes, p.Bytes)
		}
		fast = fast || p.BytesPerSecond > 0
		last = p
	}
	if diff := cmp.Diff([]Phase{Fetching, Verifying, Expanding, Inspecting}, phases); diff != "" {
		t.Errorf("phases (-want +got):\n%s", diff)
	}
	if want := int64(len(data)); last.Bytes != want || last.TotalBytes != want || !fast {
		t.Errorf("last %+v, speed seen: %v", last, fast)
	}
}

// TestOpenContent reads what was imported, until it is collected.
func TestOpenContent(t *testing.T) {
	t.Parallel()
	const name = "node.qcow2.zip"
	data := corpusFile(t, name)
	server := newOrigin(t)
	i := newImporter(t, options{dir: t.TempDir(), store: store.Options{MaxBytes: 1, MinAge: -1}})
	spec := Spec{URLs: []string{server.file(name, data)}, Checksum: Checksum{Digest: digestOf(artifact.SHA256, data)}}
	res, err := i.Import(t.Context(), spec, nil)
	if err != nil {
		t.Fatal(err)
	}
	lease, err := i.Lease(res.ContentDigest)
	if err != nil {
		t.Fatal(err)
	}
	collect(t, i)
	blob, size, err := i.OpenContent(res.ContentDigest)
	if err != nil || size != res.ContentBytes {
		t.Fatalf("size %d, error %v", size, err)
	}
	content, err := io.ReadAll(blob)
	if err != nil || *digestOf(artifact.SHA256, content) != res.ContentDigest {
		t.Errorf("read %d bytes, error %v", len(content), err)
	}
	if err := errors.Join(blob.Close(), lease.Release()); err != nil {
		t.Fatal(err)
	}
	collect(t, i)
	if _, _, err := i.OpenContent(res.ContentDigest); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("error %v", err)
	}
	if again, err := i.Import(t.Context(), spec, nil); err != nil || again.ContentDigest != res.ContentDigest || server.requests(name) != 2 {
		t.Errorf("after the collection: %+v, %v", again, err)
	}
}

func collect(t *testing.T, i *Importer) {
	t.Helper()
	if _, err := i.opts.Store.Collect(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestNewWantsItsParts(t *testing.T) {
	t.Parallel()
	if _, err := New(Options{}); err == nil {
		t.Error("an importer of nothing")
	}
}
