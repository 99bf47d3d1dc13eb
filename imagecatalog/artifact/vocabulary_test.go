package artifact_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/capcat/capcat/imagecatalog/artifact"
)

func TestParseDigest(t *testing.T) {
	hex := strings.Repeat("ab", 32)
	for in, want := range map[string]string{
		"sha256:" + hex:                      "sha256:" + hex,
		" SHA-256:" + strings.ToUpper(hex):   "sha256:" + hex,
		"SHA2-256:" + hex:                    "sha256:" + hex,
		"md5:" + hex[:32]:                    "md5:" + hex[:32],
		"sha1:" + hex[:40]:                   "sha1:" + hex[:40],
		"SHA-512:" + hex + hex:               "sha512:" + hex + hex,
		"sha256:" + hex[:62]:                 "",
		"sha256:" + hex + "00":               "",
		"sha256:" + strings.Repeat("zz", 32): "",
		hex:                                  "",
		"crc32:12345678":                     "",
		":" + hex:                            "",
		"":                                   "",
	} {
		d, err := artifact.ParseDigest(in)
		if d.String() != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v; want %q", in, d, err, want)
		}
		if err != nil && artifact.CodeOf(err) != artifact.BadChecksumForm {
			t.Errorf("%q: %v has the wrong code", in, err)
		}
	}
}

func TestBracedDigest(t *testing.T) {
	for in, want := range map[string]string{
		"sha256:" + strings.Repeat("0", 64):  "{SHA-256}" + strings.Repeat("0", 64),
		"sha512:" + strings.Repeat("0", 128): "{SHA-512}" + strings.Repeat("0", 128),
		"sha1:" + strings.Repeat("0", 40):    "{SHA-1}" + strings.Repeat("0", 40),
		"md5:" + strings.Repeat("0", 32):     "{MD5}" + strings.Repeat("0", 32),
	} {
		d, err := artifact.ParseDigest(in)
		if err != nil || d.Braced() != want {
			t.Errorf("%q: %q, %v", in, d.Braced(), err)
		}
	}
	if got := (artifact.Digest{}).Braced(); got != "" {
		t.Errorf("no digest: %q", got)
	}
}

func TestAlgorithms(t *testing.T) {
	for _, a := range artifact.Algorithms() {
		if back, ok := artifact.AlgorithmOfLen(a.HexLen()); !ok || back != a {
			t.Errorf("%s has %d digits, which are those of %s", a, a.HexLen(), back)
		}
		if again, err := artifact.ParseAlgorithm(strings.ToUpper(string(a))); err != nil || again != a {
			t.Errorf("%s: %s, %v", a, again, err)
		}
	}
	for _, bad := range []string{"", "sha", "sha3-256", "1", "crc32", "sha257"} {
		if a, err := artifact.ParseAlgorithm(bad); err == nil {
			t.Errorf("%q is read as %s", bad, a)
		}
	}
}

func TestErrors(t *testing.T) {
	cause := artifact.WrapError(artifact.SourceMissing, "asking for the file", io.ErrUnexpectedEOF)
	err := fmt.Errorf("fetching: %w", cause)
	if artifact.CodeOf(err) != artifact.SourceMissing || artifact.RetryOf(err) != artifact.RetrySlow || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("%v", err)
	}
	if want := "SourceMissing: asking for the file: unexpected EOF"; cause.Error() != want {
		t.Errorf("%q, want %q", cause.Error(), want)
	}
	if artifact.CodeOf(io.EOF) != "" || artifact.RetryOf(io.EOF) != artifact.RetryBackoff {
		t.Error("an error without a code is retried")
	}
}

func TestFormats(t *testing.T) {
	for hypervisor, want := range map[string]artifact.Format{"KVM": artifact.QCOW2, "vmware": artifact.OVA, "XenServer": artifact.VHD, "Ovm3": artifact.RAW} {
		if got, ok := artifact.FormatFor(hypervisor); !ok || got != want || !got.FitsHypervisor(hypervisor) {
			t.Errorf("%s prefers %s", hypervisor, got)
		}
	}
	if _, ok := artifact.FormatFor("Bochs"); ok || !artifact.RAW.FitsHypervisor("Bochs") {
		t.Error("an unknown hypervisor has a preference, or a dislike")
	}
	if f, err := artifact.ParseFormat(" qcow2 "); err != nil || f != artifact.QCOW2 || f.Suffix() != "qcow2" {
		t.Errorf("%s, %v", f, err)
	}
	if _, err := artifact.ParseFormat("ISO"); err == nil {
		t.Error("ISO is a format")
	}
}

func TestLimits(t *testing.T) {
	l := artifact.Limits{MaxOutputBytes: 5, MaxVirtualSizeBytes: -1}.WithDefaults()
	if l.MaxOutputBytes != 5 || l.MaxVirtualSizeBytes != 1<<40 || l.MaxDownloadBytes != 64<<30 {
		t.Errorf("%+v", l)
	}
}
