package ova

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"testing"
	"time"
)

// TestLargeDisk makes the head for disks on both sides of what plain ustar can say.
func TestLargeDisk(t *testing.T) {
	for name, c := range map[string]struct {
		size   int64
		format tar.Format
	}{
		"8 GiB less a sector": {8<<30 - 512, tar.FormatUSTAR},
		"8 GiB":               {8 << 30, tar.FormatGNU},
		"2 TiB":               {2 << 40, tar.FormatGNU},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := Machine{Name: "node"}.complete()
			if err != nil {
				t.Fatal(err)
			}
			a := &appliance{Machine: m, Disk: "node-disk1.vmdk", Capacity: 4 << 40, DiskSize: c.size, created: time.Unix(0, 0), sum: sha256.New()}
			text, err := a.describe()
			if err != nil {
				t.Fatal(err)
			}
			a.room = len(text) + 5
			head, err := a.head()
			if err != nil || int64(len(head)) != a.headSize() || head[257] != 'u' {
				t.Fatalf("%d bytes, want %d (%v)", len(head), a.headSize(), err)
			}
			var last *tar.Header
			for r := tar.NewReader(bytes.NewReader(head)); ; {
				h, err := r.Next()
				if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				if last = h; h.Name == a.Disk {
					break
				}
			}
			if last == nil || last.Name != a.Disk || last.Size != c.size || last.Format != c.format {
				t.Errorf("the disk's header is %+v", last)
			}
		})
	}
}
