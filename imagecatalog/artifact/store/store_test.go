package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/capcat/capcat/imagecatalog/artifact"
	"github.com/google/go-cmp/cmp"
	clocktesting "k8s.io/utils/clock/testing"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func open(t *testing.T, o Options) *Store {
	t.Helper()
	if o.MinFreeBytes == 0 {
		o.MinFreeBytes = -1
	}
	s, err := Open(t.TempDir(), o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func digestOf(text string) artifact.Digest {
	h := artifact.SHA256.New()
	h.Write([]byte(text))
	return artifact.DigestOf(artifact.SHA256, h)
}

func claim(t *testing.T, s *Store, name string) *Claim {
	t.Helper()
	c, err := s.Claim(t.Context(), Key(name))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func put(t *testing.T, s *Store, text string) artifact.Digest {
	t.Helper()
	c := claim(t, s, text)
	if err := os.WriteFile(c.DownloadPath(), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := c.CommitDownload(digestOf(text), int64(len(text))); err != nil {
		t.Fatal(err)
	}
	if err := c.Release(); err != nil {
		t.Fatal(err)
	}
	return digestOf(text)
}

// files lists the store by name.
func files(t *testing.T, s *Store) []string {
	t.Helper()
	var names []string
	for _, dir := range []string{s.blobs, s.sources} {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	return names
}

func TestCommitAndOpen(t *testing.T) {
	t.Parallel()
	s := open(t, Options{})
	d := put(t, s, "image")
	b, err := s.Open(d)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	data, err := io.ReadAll(b)
	if err != nil || string(data) != "image" || b.Size() != 5 {
		t.Errorf("read %q of %d bytes, error %v", data, b.Size(), err)
	}
	info, err := os.Stat(filepath.Join(s.blobs, d.Hex))
	if err != nil || info.Mode().Perm() != blobMode {
		t.Errorf("mode %v, error %v", info.Mode(), err)
	}
	if diff := cmp.Diff([]string{d.Hex}, files(t, s)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

func TestCommitRefusesAnotherSize(t *testing.T) {
	t.Parallel()
	s := open(t, Options{})
	c := claim(t, s, "a")
	if err := os.WriteFile(c.DownloadPath(), []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := c.CommitDownload(digestOf("half and half"), 13); artifact.CodeOf(err) != artifact.StoreFailed {
		t.Errorf("error %v", err)
	}
	if err := errors.Join(c.Discard(), c.Release()); err != nil {
		t.Fatal(err)
	}
	if got := files(t, s); len(got) != 0 {
		t.Errorf("left behind: %v", got)
	}
}

func TestNamesNeverLeaveTheStore(t *testing.T) {
	t.Parallel()
	s := open(t, Options{})
	for name, d := range map[string]artifact.Digest{
		"traversal":  {Algorithm: artifact.SHA256, Hex: "../../../../etc/passwd"},
		"upper case": {Algorithm: artifact.SHA256, Hex: strings.Repeat("AB", 32)},
		"short":      {Algorithm: artifact.SHA256, Hex: "ab"},
		"md5":        {Algorithm: artifact.MD5, Hex: strings.Repeat("ab", 32)},
		"none":       {},
	} {
		if _, err := s.Open(d); err == nil || errors.Is(err, ErrNotFound) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	if _, err := s.Claim(t.Context(), "../x"); err == nil {
		t.Error("a claim takes a path")
	}
	if _, err := s.Open(digestOf("absent")); !errors.Is(err, ErrNotFound) {
		t.Errorf("absent blob: %v", err)
	}
}

func TestCollect(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		opts Options
		use  func(*testing.T, *Store, map[string]artifact.Digest) func() error
		want []string // blobs that stay
	}{
		"no bound":            {want: []string{"aaaa", "bbbb", "cccc"}},
		"oldest goes":         {opts: Options{MaxBytes: 8}, want: []string{"bbbb", "cccc"}},
		"all but the bound":   {opts: Options{MaxBytes: 1}, want: []string{}},
		"young ones stay":     {opts: Options{MaxBytes: 1, MinAge: 90 * time.Minute}, want: []string{"cccc"}},
		"leased one stays":    {opts: Options{MaxBytes: 4}, use: lease("aaaa"), want: []string{"aaaa"}},
		"use makes young":     {opts: Options{MaxBytes: 4}, use: touch("aaaa"), want: []string{"aaaa"}},
		"demoted one is next": {opts: Options{MaxBytes: 8}, use: demote("cccc"), want: []string{"aaaa", "bbbb"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock := clocktesting.NewFakeClock(now)
			tc.opts.Clock = clock
			if tc.opts.MinAge == 0 {
				tc.opts.MinAge = -1
			}
			s := open(t, tc.opts)
			all := map[string]artifact.Digest{}
			for _, text := range []string{"aaaa", "bbbb", "cccc"} {
				all[text] = put(t, s, text)
				clock.Step(time.Hour)
			}
			if tc.use != nil {
				defer tc.use(t, s, all)()
			}
			c, err := s.Collect(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			want := []string{}
			for _, text := range tc.want {
				want = append(want, all[text].Hex)
			}
			slices.Sort(want)
			got := append([]string{}, files(t, s)...)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("blobs (-want +got):\n%s", diff)
			}
			if c.Blobs != 3-len(tc.want) || c.Bytes != int64(4*c.Blobs) {
				t.Errorf("collected %+v", c)
			}
		})
	}
}

func lease(text string) func(*testing.T, *Store, map[string]artifact.Digest) func() error {
	return func(t *testing.T, s *Store, all map[string]artifact.Digest) func() error {
		t.Helper()
		l, err := s.Lease(all[text])
		if err != nil {
			t.Fatal(err)
		}
		return l.Release
	}
}

func touch(text string) func(*testing.T, *Store, map[string]artifact.Digest) func() error {
	return func(t *testing.T, s *Store, all map[string]artifact.Digest) func() error {
		t.Helper()
		l, err := s.Lease(all[text])
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Release(); err != nil {
			t.Fatal(err)
		}
		return l.Release
	}
}

func demote(text string) func(*testing.T, *Store, map[string]artifact.Digest) func() error {
	return func(t *testing.T, s *Store, all map[string]artifact.Digest) func() error {
		t.Helper()
		if err := s.Demote(all[text]); err != nil {
			t.Fatal(err)
		}
		return func() error { return nil }
	}
}

func TestLeaseIsAllOrNone(t *testing.T) {
	t.Parallel()
	s := open(t, Options{MaxBytes: 1, MinAge: -1})
	d := put(t, s, "image")
	if _, err := s.Lease(d, digestOf("absent")); !errors.Is(err, ErrNotFound) {
		t.Errorf("error %v", err)
	}
	if c, err := s.Collect(t.Context()); err != nil || c.Blobs != 1 {
		t.Errorf("a failed lease holds on: %+v, %v", c, err)
	}
}

func TestCommitKeepsLeases(t *testing.T) {
	t.Parallel()
	s := open(t, Options{MaxBytes: 1, MinAge: -1})
	l, err := s.Lease(put(t, s, "image"))
	if err != nil {
		t.Fatal(err)
	}
	d := put(t, s, "image") // once more, from another source
	if c, err := s.Collect(t.Context()); err != nil || c.Blobs != 0 {
		t.Errorf("the second commit ended the lease: %+v, %v", c, err)
	}
	if err := l.Release(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{d.Hex}, files(t, s)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

func TestCollectLeftovers(t *testing.T) {
	t.Parallel()
	clock := clocktesting.NewFakeClock(now)
	s := open(t, Options{Clock: clock, PartialAge: time.Hour})
	busy, idle := claim(t, s, "busy"), claim(t, s, "idle")
	for _, c := range []*Claim{busy, idle} {
		for _, p := range []string{c.DownloadPath(), c.StatePath(), c.ContentPath()} {
			if err := errors.Join(os.WriteFile(p, []byte("x"), 0o600), os.Chtimes(p, now, now)); err != nil {
				t.Fatal(err)
			}
		}
	}
	gone := claim(t, s, "gone")
	if err := errors.Join(gone.Save(Record{Content: digestOf("gone")}), gone.Release(), idle.Release()); err != nil {
		t.Fatal(err)
	}
	base := filepath.Base
	steps := []struct {
		name string
		wait time.Duration
		want []string
	}{
		{"young downloads stay, content and records of nothing go", time.Minute, []string{
			base(busy.ContentPath()), base(busy.DownloadPath()), base(busy.StatePath()), base(busy.lock.Name()),
			base(idle.DownloadPath()), base(idle.StatePath()), Key("idle") + lockSuffix,
		}},
		{"old downloads go unless they are claimed", 2 * time.Hour, []string{
			base(busy.ContentPath()), base(busy.DownloadPath()), base(busy.StatePath()), base(busy.lock.Name()),
		}},
	}
	for _, step := range steps {
		clock.Step(step.wait)
		if _, err := s.Collect(t.Context()); err != nil {
			t.Fatal(err)
		}
		slices.Sort(step.want)
		if diff := cmp.Diff(step.want, files(t, s)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.name, diff)
		}
	}
}

func TestRecord(t *testing.T) {
	t.Parallel()
	s := open(t, Options{})
	c := claim(t, s, "a")
	if _, err := c.Record(); !errors.Is(err, ErrNotFound) {
		t.Errorf("no record yet: %v", err)
	}
	want := Record{Download: digestOf("d"), Content: digestOf("c"), SavedAt: now, Data: []byte(`{"a":1}`)}
	if err := c.Save(want); err != nil {
		t.Fatal(err)
	}
	got, err := c.Record()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("record (-want +got):\n%s", diff)
	}
	if err := os.WriteFile(c.recordPath(), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Record(); !errors.Is(err, ErrNotFound) {
		t.Errorf("damaged record: %v", err)
	}
	if err := c.Release(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Collect(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := files(t, s); len(got) != 0 {
		t.Errorf("left behind: %v", got)
	}
}

func TestClaimExcludes(t *testing.T) {
	t.Parallel()
	s := open(t, Options{})
	var inside, most int
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			c, err := s.Claim(t.Context(), Key("a"))
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			inside++
			most = max(most, inside)
			mu.Unlock()
			runtime.Gosched()
			mu.Lock()
			inside--
			mu.Unlock()
			if err := c.Release(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if most != 1 {
		t.Errorf("%d at one time", most)
	}
}

func TestClaimGivesUpWithItsContext(t *testing.T) {
	t.Parallel()
	s := open(t, Options{})
	held := claim(t, s, "a")
	defer held.Release()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	if _, err := s.Claim(ctx, Key("a")); artifact.CodeOf(err) != artifact.Canceled {
		t.Errorf("error %v", err)
	}
}

// TestOtherProcess lets this test binary be a second process: it holds a claim and a lease until its input ends.
func TestOtherProcess(t *testing.T) {
	const dirEnv, hexEnv = "STORE_TEST_DIR", "STORE_TEST_HEX"
	if dir := os.Getenv(dirEnv); dir != "" {
		holdForParent(t, dir, os.Getenv(hexEnv))
		return
	}
	t.Parallel()
	dir := t.TempDir()
	s, err := Open(dir, Options{MinFreeBytes: -1, MaxBytes: 1, MinAge: -1})
	if err != nil {
		t.Fatal(err)
	}
	d := put(t, s, "image")
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestOtherProcess$")
	cmd.Env = append(os.Environ(), dirEnv+"="+dir, hexEnv+"="+d.Hex)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	if c, err := s.tryClaim(Key("shared")); err != nil || c != nil {
		t.Errorf("the claim of another process does not hold: %v, %v", c, err)
	}
	if c, err := s.Collect(t.Context()); err != nil || c.Blobs != 0 {
		t.Errorf("the lease of another process does not hold: %+v, %v", c, err)
	}
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(out); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	if c, err := s.Collect(t.Context()); err != nil || c.Blobs != 1 {
		t.Errorf("a dead process holds on: %+v, %v", c, err)
	}
	if err := claim(t, s, "shared").Release(); err != nil {
		t.Error(err)
	}
}

func holdForParent(t *testing.T, dir, hex string) {
	t.Helper()
	s, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	claim(t, s, "shared") // the end of the process releases both
	if _, err := s.Lease(artifact.Digest{Algorithm: artifact.SHA256, Hex: hex}); err != nil {
		t.Fatal(err)
	}
	fmt.Println("held")
	if _, err := io.ReadAll(os.Stdin); err != nil {
		t.Fatal(err)
	}
}

func TestRoom(t *testing.T) {
	t.Parallel()
	disk := int64(100)
	s := open(t, Options{MinFreeBytes: 10, MinAge: -1, FreeBytes: func(string) (int64, error) { return disk, nil }})
	a, b := s.Room(t.Context()), s.Room(t.Context())
	steps := []struct {
		name string
		do   func() error
		want artifact.Code
	}{
		{"fits", func() error { return a.Expect(60) }, ""},
		{"does not fit beside the other", func() error { return b.Expect(40) }, artifact.NoSpace},
		{"a smaller one does", func() error { return b.Expect(30) }, ""},
		{"the first writes, the disk fills", func() error { disk -= 60; return a.Wrote(60) }, ""},
		{"and the other still fits", func() error { return b.Expect(30) }, ""},
		{"somebody else fills the disk", func() error { disk = 0; return b.Wrote(roomStep) }, artifact.NoSpace},
	}
	for _, step := range steps {
		if err := step.do(); artifact.CodeOf(err) != step.want {
			t.Errorf("%s: error %v, want %q", step.name, err, step.want)
		}
	}
	a.Release()
	b.Release()
	if len(s.rooms) != 0 {
		t.Error("a released room stays")
	}
}

func TestRoomCollects(t *testing.T) {
	t.Parallel()
	var s *Store
	s = open(t, Options{MinAge: -1, FreeBytes: func(string) (int64, error) {
		var free int64 = 10
		for range 3 - len(blobsOf(s)) {
			free += 4
		}
		return free, nil
	}})
	for _, text := range []string{"aaaa", "bbbb", "cccc"} {
		put(t, s, text)
	}
	r := s.Room(t.Context())
	defer r.Release()
	if err := r.Expect(17); err != nil {
		t.Fatal(err)
	}
	if left := len(blobsOf(s)); left != 1 {
		t.Errorf("%d blobs left, want 1: no more goes than must", left)
	}
	if err := r.Expect(100); artifact.CodeOf(err) != artifact.NoSpace {
		t.Errorf("error %v", err)
	}
}

func blobsOf(s *Store) []blobFile {
	all, err := s.listBlobs()
	if err != nil {
		return nil
	}
	return all
}

func TestWriter(t *testing.T) {
	t.Parallel()
	free := int64(1 << 40)
	s := open(t, Options{FreeBytes: func(string) (int64, error) { return free, nil }})
	room := s.Room(t.Context())
	defer room.Release()
	w, err := s.NewWriter(filepath.Join(s.blobs, Key("a")+contentSuffix), room)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	chunk := make([]byte, 1<<20)
	for range 40 {
		if _, err := w.Write(chunk); err != nil {
			t.Fatal(err)
		}
	}
	free = 0
	for err == nil && w.Size() < 100<<20 {
		_, err = w.Write(chunk)
	}
	if artifact.CodeOf(err) != artifact.NoSpace || w.Size() < 40<<20 {
		t.Errorf("error %v after %d bytes", err, w.Size())
	}
}
