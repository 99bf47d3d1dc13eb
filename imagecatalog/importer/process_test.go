package importer

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/capcat/capcat/imagecatalog/artifact"
	"github.com/capcat/capcat/imagecatalog/artifact/fetch"
	"github.com/capcat/capcat/imagecatalog/artifact/store"
)

const (
	childDir    = "IMPORTER_TEST_DIR"
	childURL    = "IMPORTER_TEST_URL"
	childDigest = "IMPORTER_TEST_DIGEST"
)

// importAsChild is what TestMain does in a process that a test started: one import, whose end it prints.
func importAsChild(dir string, out io.Writer) error {
	blobs, err := store.Open(dir, store.Options{MinFreeBytes: -1})
	if err != nil {
		return err
	}
	i, err := New(Options{Store: blobs, Fetcher: fetch.New(fetch.Options{AllowLoopback: true})})
	if err != nil {
		return err
	}
	d, err := artifact.ParseDigest(os.Getenv(childDigest))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	res, err := i.Import(ctx, Spec{URLs: []string{os.Getenv(childURL)}, Checksum: Checksum{Digest: &d}}, nil)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(out, "imported", res.ContentDigest)
	return err
}

type child struct {
	*exec.Cmd
	out *bufio.Reader
}

func startChild(t *testing.T, dir, url string, d *artifact.Digest) *child {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), childDir+"="+dir, childURL+"="+url, childDigest+"="+d.String())
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return &child{cmd, bufio.NewReader(out)}
}

// TestKilledProcess kills a process in the middle of an import, and goes on from what it left.
func TestKilledProcess(t *testing.T) {
	t.Parallel()
	const name = "node-big.qcow2.bz2"
	data := corpusFile(t, name)
	half := len(data) / 2
	server, dir := newOrigin(t), t.TempDir()
	url := server.handle(name, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"v1"`)
		w.Header().Set("Content-Length", fmt.Sprint(len(data)))
		w.Write(data[:half])
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	spec := Spec{URLs: []string{url}, Checksum: Checksum{Digest: digestOf(artifact.SHA256, data)}}
	c := startChild(t, dir, url, spec.Checksum.Digest)
	waitFor(t, func() bool { return downloaded(dir) == int64(half) })
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := c.Wait(); !errors.As(err, &exit) {
		t.Fatalf("the child ended by itself: %v", err)
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
	if len(ranges) != 1 || ranges[0] != fmt.Sprintf("bytes=%d-", half) {
		t.Errorf("asked for the ranges %q", ranges)
	}
}

// downloaded is the size of the one partial download in a store.
func downloaded(dir string) int64 {
	entries, err := os.ReadDir(dir + "/blobs/sha256")
	if err != nil {
		return 0
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && strings.HasSuffix(e.Name(), ".download.partial") {
			return info.Size()
		}
	}
	return 0
}

// TestTwoProcesses lets another process want the same image at the same time: it is downloaded once.
func TestTwoProcesses(t *testing.T) {
	t.Parallel()
	const name = "node.qcow2.xz"
	data := corpusFile(t, name)
	server, dir := newOrigin(t), t.TempDir()
	asked, goOn := make(chan struct{}), make(chan struct{})
	var once sync.Once
	url := server.handle(name, func(w http.ResponseWriter, r *http.Request) {
		once.Do(func() { close(asked) })
		<-goOn
		http.ServeContent(w, r, "x", time.Time{}, bytes.NewReader(data))
	})
	spec := Spec{URLs: []string{url}, Checksum: Checksum{Digest: digestOf(artifact.SHA256, data)}}
	c := startChild(t, dir, url, spec.Checksum.Digest)
	<-asked
	done := make(chan error, 1)
	go func() {
		_, err := newImporter(t, options{dir: dir}).Import(t.Context(), spec, nil)
		done <- err
	}()
	close(goOn)
	if line, err := c.out.ReadString('\n'); err != nil || !strings.HasPrefix(line, "imported sha256:") {
		t.Errorf("the child says %q, %v", line, err)
	}
	if err := errors.Join(<-done, c.Wait()); err != nil {
		t.Fatal(err)
	}
	if got := server.requests(name); got != 1 {
		t.Errorf("%d downloads", got)
	}
}
