//go:build imagetools

package index_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/capcat/capcat/imagecatalog/index"
)

// This tier lets minisign itself verify and sign. It is run by
//
//	go test -tags imagetools ./imagecatalog/index
//
// and fails where the program is missing.

func minisignTool(t *testing.T, args ...string) (string, error) {
	t.Helper()
	if _, err := exec.LookPath("minisign"); err != nil {
		t.Fatalf("%v; Debian and Ubuntu have it: apt-get install minisign", err)
	}
	var out bytes.Buffer
	c := exec.CommandContext(t.Context(), "minisign", args...)
	c.Stdout, c.Stderr = &out, &out
	err := c.Run()
	return out.String(), err
}

func put(t *testing.T, name string, data []byte) string {
	t.Helper()
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestMinisignVerifies lets minisign verify our signature, made with our key.
func TestMinisignVerifies(t *testing.T) {
	dir := t.TempDir()
	public, private := keys(t)
	text, err := public.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	data := []byte(`{"format":"capcat-image-index/v1"}`)
	signature, err := index.Sign(private, data, time.Unix(1700000000, 0))
	if err != nil {
		t.Fatal(err)
	}
	key, file := put(t, filepath.Join(dir, "k.pub"), append(text, '\n')), put(t, filepath.Join(dir, index.Name), data)
	put(t, file+index.SignatureSuffix, signature)
	if out, err := minisignTool(t, "-V", "-H", "-m", file, "-p", key); err != nil || !strings.Contains(out, "timestamp:1700000000\tfile:index.json\thashed") {
		t.Errorf("%v: %s", err, out)
	}
	put(t, file, append(data, ' '))
	if out, err := minisignTool(t, "-V", "-m", file, "-p", key); err == nil {
		t.Errorf("a changed index is verified: %s", out)
	}
}

// TestMinisignSigns reads keys and signatures of minisign, and signs with its key.
func TestMinisignSigns(t *testing.T) {
	dir := t.TempDir()
	pub, sec := filepath.Join(dir, "k.pub"), filepath.Join(dir, "k.key")
	if out, err := minisignTool(t, "-G", "-W", "-p", pub, "-s", sec); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	data := []byte(`{"format":"capcat-image-index/v1"}`)
	file := put(t, filepath.Join(dir, index.Name), data)
	text, err := os.ReadFile(pub)
	if err != nil {
		t.Fatal(err)
	}
	public, err := index.ParsePublicKey(text)
	if err != nil {
		t.Fatal(err)
	}
	for what, flag := range map[string]string{"over the digest": "-H", "over the bytes": "-l"} {
		if out, err := minisignTool(t, "-S", flag, "-m", file, "-s", sec); err != nil {
			t.Fatalf("%s: %v: %s", what, err, out)
		}
		signature, err := os.ReadFile(file + index.SignatureSuffix)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := index.Verify(public, data, signature); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	secret, err := os.ReadFile(sec)
	if err != nil {
		t.Fatal(err)
	}
	private, err := index.ParsePrivateKey(secret, nil)
	if err != nil {
		t.Fatal(err)
	}
	signature, err := index.Sign(private, data, time.Unix(1700000000, 0))
	if err != nil {
		t.Fatal(err)
	}
	put(t, file+index.SignatureSuffix, signature)
	if out, err := minisignTool(t, "-V", "-m", file, "-p", pub); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
