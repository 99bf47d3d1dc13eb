package management

import (
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

func TestWriteReplacesOnlyWhatChanged(t *testing.T) {
	dir := t.TempDir()
	if err := write(dir, map[string]string{"a": "1", "sub/b": "2"}); err != nil {
		t.Fatal(err)
	}
	old := time.Unix(1000, 0)
	for _, name := range []string{"a", "sub/b"} {
		if err := os.Chtimes(filepath.Join(dir, name), old, old); err != nil {
			t.Fatal(err)
		}
	}
	if err := write(dir, map[string]string{"a": "1", "sub/b": "3"}); err != nil {
		t.Fatal(err)
	}
	kept, err := os.Stat(filepath.Join(dir, "a"))
	if err != nil {
		t.Fatal(err)
	}
	if !kept.ModTime().Equal(old) {
		t.Error("a file of the same content was written again")
	}
	if got, err := os.ReadFile(filepath.Join(dir, "sub/b")); err != nil || string(got) != "3" {
		t.Errorf("got %q, %v, want the new content", got, err)
	}
}

func TestChosen(t *testing.T) {
	all := map[string]string{"tls.crt": "c", "tls.key": "k"}
	if diff := cmp.Diff(all, chosen(all, nil)); diff != "" {
		t.Errorf("without items, -want +got:\n%s", diff)
	}
	items := []corev1.KeyToPath{{Key: "tls.key", Path: "private/key"}, {Key: "missing", Path: "x"}}
	if diff := cmp.Diff(map[string]string{"private/key": "k"}, chosen(all, items)); diff != "" {
		t.Errorf("with items, -want +got:\n%s", diff)
	}
}

func TestSelfSignedServes(t *testing.T) {
	text, _, err := selfSigned([]string{"webhook.system.svc"})
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(text)
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(certificate)
	if _, err := certificate.Verify(x509.VerifyOptions{DNSName: "webhook.system.svc", Roots: roots}); err != nil {
		t.Error(err)
	}
	if _, err := certificate.Verify(x509.VerifyOptions{DNSName: "other.system.svc", Roots: roots}); err == nil {
		t.Error("it vouches for a name that it does not have")
	}
}
