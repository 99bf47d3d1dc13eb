package inspect_test

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"github.com/capcat/capcat/imagecatalog/artifact"
	"github.com/capcat/capcat/imagecatalog/artifact/inspect"
)

// fuzz tries changed images: no panic, and never much work for few bytes.
func fuzz(f *testing.F, declared artifact.Format, seeds ...[]byte) {
	for _, s := range seeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		in := &counting{r: bytes.NewReader(data)}
		start := time.Now()
		report, err := inspect.Inspect(t.Context(), in, int64(len(data)), inspect.Options{Declared: declared})
		if err != nil {
			t.Fatalf("an error for content in memory: %v", err)
		}
		if took := time.Since(start); took > time.Minute {
			t.Fatalf("%d bytes took %s", len(data), took)
		}
		if limit := 40*int64(len(data)) + 1<<20; in.n > limit {
			t.Fatalf("%d bytes were read of a file of %d", in.n, len(data))
		}
		known := slices.ContainsFunc(artifact.Codes(), func(c artifact.CodeInfo) bool { return c.Code == report.Reason })
		if report.Verdict == inspect.Accept && report.Reason != "" || report.Verdict != inspect.Accept && !known {
			t.Fatalf("%s with the reason %q", report.Verdict, report.Reason)
		}
		if report.VirtualSizeBytes < 0 || report.Verdict != inspect.Reject && report.VirtualSizeBytes > 1<<40 {
			t.Fatalf("virtual size %d", report.VirtualSizeBytes)
		}
	})
}

// counting counts the bytes that were asked for.
type counting struct {
	r *bytes.Reader
	n int64
}

func (c *counting) ReadAt(p []byte, off int64) (int, error) {
	c.n += int64(len(p))
	return c.r.ReadAt(p, off)
}

func FuzzQCOW2(f *testing.F) {
	fuzz(f, artifact.QCOW2, tinyQCOW2(), load(f, "qcow2-truncated-header.qcow2"),
		all(be32(4, 2), be64(72, 0))(tinyQCOW2()),
		all(be32(60, 1), be64(64, 5*512))(tinyQCOW2()),
		be64(4*512, 1<<62|5*512)(tinyQCOW2()))
}

func FuzzVHD(f *testing.F) {
	fuzz(f, artifact.VHD, load(f, "vhd-blank.vhd"), load(f, "vhd-differencing.vhd"), load(f, "vhd-bad-checksum.vhd"))
}

func FuzzVMDK(f *testing.F) {
	fuzz(f, artifact.VMDK, load(f, "vmdk-descriptor-only.vmdk"), tinyVMDK(), withFooter(tinyVMDK()))
}

func FuzzOVA(f *testing.F) {
	small := newAppliance(f)
	small.disk = small.disk[:2048]
	fuzz(f, artifact.OVA, small.bytes(),
		tarOf(pax("path=a", "size=3"), entry{name: "b", data: []byte("abc")}, entry{name: "n.ovf", data: small.ovf()}))
}

func FuzzRaw(f *testing.F) {
	fuzz(f, artifact.RAW, blank(4096, mbr(0x83, 1, 7)), blank(8192, put(512, []byte("EFI PART")...)), []byte("<html>"), iso())
}
