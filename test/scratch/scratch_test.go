package scratch

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFoldersThatNobodyHoldsGo(t *testing.T) {
	parent := t.TempDir()
	held := take(t, parent, "run")
	ended := take(t, parent, "run")
	write(t, filepath.Join(ended.Path, "deep", "down.log"))
	if err := ended.lock.Close(); err != nil { // as the end of its process does
		t.Fatal(err)
	}
	for _, other := range []string{"run-er-1", "run-away", "running-1"} {
		write(t, filepath.Join(parent, other, "file"))
	}
	write(t, filepath.Join(parent, "run-2")) // no folder

	now := take(t, parent, "run")
	if diff := cmp.Diff([]string{filepath.Base(held.Path), filepath.Base(now.Path), "run-2", "run-away", "run-er-1", "running-1"}, names(t, parent), sorted); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if err := now.Remove(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(now.Path); !os.IsNotExist(err) {
		t.Errorf("it is still there: %v", err)
	}
}

func TestLogsAreKept(t *testing.T) {
	f := take(t, t.TempDir(), "run")
	for _, name := range []string{"a.log", "etcd/data/0.wal", "management/logs/core.log", "management/kubeconfig", "programs/manager"} {
		write(t, filepath.Join(f.Path, filepath.FromSlash(name)))
	}
	if err := f.KeepLogs(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a.log", "management"}, names(t, f.Path)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if diff := cmp.Diff([]string{"logs"}, names(t, filepath.Join(f.Path, "management"))); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if diff := cmp.Diff([]string{"core.log"}, names(t, filepath.Join(f.Path, "management", "logs"))); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// sorted compares lists of names whatever their order.
var sorted = cmp.Transformer("set", func(names []string) map[string]bool {
	set := map[string]bool{}
	for _, name := range names {
		set[name] = true
	}
	return set
})

func take(t *testing.T, parent, name string) *Folder {
	t.Helper()
	f, err := takeIn(parent, name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.lock.Close() }) // it may be closed by now
	return f
}

func write(t *testing.T, path string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}
