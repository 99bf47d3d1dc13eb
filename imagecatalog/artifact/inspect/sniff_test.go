package inspect_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/capcat/capcat/imagecatalog/artifact"
	"github.com/capcat/capcat/imagecatalog/artifact/inspect"
)

// blank is a disk of zeros with something written into it.
func blank(n int, f ...patch) []byte { return all(f...)(make([]byte, n)) }

// mbr writes a partition table of one entry.
func mbr(kind byte, start, n uint32) patch {
	return all(put(446, 0x80, 0, 0, 0, kind), le32(446+8, start), le32(446+12, n), put(510, 0x55, 0xaa))
}

func TestContentAgainstDeclaration(t *testing.T) {
	noise := bytes.Repeat([]byte{0xde, 0xad, 0xbe, 0xef, 0}, 2000)
	html := []byte("\n <!DOCTYPE html><html><body>Log in</body></html>")
	for name, r := range map[string]struct {
		data     []byte
		declared artifact.Format
		code     artifact.Code
		warn     bool
	}{
		"noise as RAW":            {append(noise, make([]byte, 240)...), artifact.RAW, artifact.UnknownContent, true},
		"zeros as RAW":            {blank(4096), artifact.RAW, artifact.UnknownContent, true},
		"odd size":                {blank(5000, mbr(0x83, 1, 2)), artifact.RAW, artifact.UnalignedSize, true},
		"less than a sector":      {blank(100), artifact.RAW, artifact.TruncatedHeader, false},
		"MBR":                     {blank(4096, mbr(0x83, 1, 7)), artifact.RAW, "", false},
		"MBR, nothing declared":   {blank(4096, mbr(0x83, 1, 7)), "", "", false},
		"MBR beyond the disk":     {blank(4096, mbr(0x83, 1, 8)), artifact.RAW, artifact.TruncatedImage, false},
		"MBR absurd":              {blank(4096, mbr(0x83, 1<<32-1, 1<<32-1)), artifact.RAW, artifact.TruncatedImage, false},
		"boot sector of a FAT":    {blank(4096, put(54, []byte("FAT12   ")...), put(446, bytes.Repeat([]byte{0x7f}, 64)...), put(510, 0x55, 0xaa)), artifact.RAW, "", false},
		"GPT":                     {blank(8192, put(512, []byte("EFI PART")...), le64(512+32, 15), mbr(0xee, 1, 1<<32-1)), artifact.RAW, "", false},
		"GPT cut":                 {blank(8192, put(512, []byte("EFI PART")...), le64(512+32, 16), mbr(0xee, 1, 1<<32-1)), artifact.RAW, artifact.TruncatedImage, false},
		"GPT absurd":              {blank(8192, put(512, []byte("EFI PART")...), le64(512+32, 1<<64-1)), artifact.RAW, artifact.TruncatedImage, false},
		"GPT of big sectors":      {blank(16384, put(4096, []byte("EFI PART")...), le64(4096+32, 3), mbr(0xee, 1, 3)), artifact.RAW, "", false},
		"ext4":                    {blank(8192, le32(1028, 8), put(1080, 0x53, 0xef)), artifact.RAW, "", false},
		"ext4 cut":                {blank(8192, le32(1028, 9), put(1080, 0x53, 0xef)), artifact.RAW, artifact.TruncatedImage, false},
		"XFS":                     {blank(8192, put(0, []byte("XFSB")...)), "", "", false},
		"XFS as QCOW2":            {blank(8192, put(0, []byte("XFSB")...)), artifact.QCOW2, artifact.FormatMismatch, false},
		"noise as QCOW2":          {noise, artifact.QCOW2, artifact.BadMagic, false},
		"noise, nothing declared": {noise, "", artifact.BadMagic, false},
		"zeros as VHD":            {blank(4096), artifact.VHD, artifact.BadMagic, false},
		"HTML as RAW":             {html, artifact.RAW, artifact.NotAnImage, false},
		"HTML and then noise":     {append(bytes.Clone(html), noise...), artifact.QCOW2, artifact.NotAnImage, false},
		"HTML in UTF-16":          {[]byte("\xff\xfe<\x00h\x00t\x00m\x00l\x00>\x00"), artifact.QCOW2, artifact.NotAnImage, false},
		"XML":                     {[]byte("<?xml version='1.0'?><Error><Code>AccessDenied</Code></Error>"), artifact.OVA, artifact.NotAnImage, false},
		"JSON":                    {[]byte(`{"message": "not found"}`), artifact.VHD, artifact.NotAnImage, false},
		"plain text":              {[]byte("version https://git-lfs.github.com/spec/v1\noid sha256:00\n"), artifact.QCOW2, artifact.NotAnImage, false},
		"text with accents":       {[]byte(strings.Repeat("é", 400)), artifact.QCOW2, artifact.NotAnImage, false},
		"ISO":                     {iso(), artifact.RAW, artifact.FormatMismatch, false},
		"VHDX":                    {append([]byte("vhdxfile"), noise...), artifact.VHD, artifact.FormatMismatch, false},
		"VHDX, nothing declared":  {append([]byte("vhdxfile"), noise...), "", artifact.FormatMismatch, false},
		"VDI":                     {blank(4096, put(0, []byte("<<< Oracle VM VirtualBox Disk Image >>>\n")...), le32(0x40, 0xbeda107f)), artifact.RAW, artifact.FormatMismatch, false},
		"gzip":                    {append([]byte{0x1f, 0x8b, 8}, noise...), artifact.RAW, artifact.FormatMismatch, false},
		"LUKS":                    {append([]byte("LUKS\xba\xbe"), noise...), artifact.RAW, artifact.FormatMismatch, false},
		"Apple disk image":        {append(bytes.Clone(noise), blank(512, put(0, []byte("koly")...))...), artifact.RAW, artifact.FormatMismatch, false},
		"qcow2 as RAW":            {load(t, "qcow2-v3.qcow2"), artifact.RAW, artifact.FormatMismatch, false},
		"qcow2 as VHD":            {load(t, "qcow2-v3.qcow2"), artifact.VHD, artifact.FormatMismatch, false},
		"VMDK as OVA":             {load(t, "vmdk-stream.vmdk"), artifact.OVA, artifact.FormatMismatch, false},
		"OVA as VMDK":             {load(t, "ova-good.ova"), artifact.VMDK, artifact.FormatMismatch, false},
		"OVA as RAW":              {load(t, "ova-good.ova"), artifact.RAW, artifact.FormatMismatch, false},
		"old tar as QCOW2":        {load(t, "ova-v7.ova"), artifact.QCOW2, artifact.FormatMismatch, false},
		"nothing":                 {nil, artifact.QCOW2, artifact.EmptyFile, false},
		"nothing at all":          {nil, "", artifact.EmptyFile, false},
	} {
		t.Run(name, func(t *testing.T) { judge(t, r.data, inspect.Options{Declared: r.declared}, r.code, r.warn) })
	}
}

func TestHypervisor(t *testing.T) {
	for hypervisor, code := range map[string]artifact.Code{
		"": "", "KVM": "", "kvm": "", "Simulator": "", "SomethingNew": "",
		"VMware": artifact.HypervisorMismatch, "XenServer": artifact.HypervisorMismatch, "Ovm": artifact.HypervisorMismatch,
	} {
		judge(t, load(t, "qcow2-v3.qcow2"), inspect.Options{Hypervisor: hypervisor}, code, false)
	}
	judge(t, load(t, "qcow2-aes.qcow2"), inspect.Options{Hypervisor: "VMware"}, artifact.Encrypted, false)
}

func TestCapOfRaw(t *testing.T) {
	disk := blank(4096, mbr(0x83, 1, 7))
	judge(t, disk, inspect.Options{MaxVirtualSizeBytes: 4096}, "", false)
	judge(t, disk, inspect.Options{MaxVirtualSizeBytes: 4095}, artifact.VirtualSizeTooLarge, false)
}

// failing gives an error from some place on.
type failing struct {
	data []byte
	from int64
	err  error
}

func (f failing) ReadAt(p []byte, off int64) (int, error) {
	if off+int64(len(p)) > f.from {
		return 0, f.err
	}
	return bytes.NewReader(f.data).ReadAt(p, off)
}

func TestFailingReadIsNoVerdict(t *testing.T) {
	broken := errors.New("disk gone")
	for _, name := range []string{"qcow2-v3.qcow2", "qcow2-snapshot.qcow2", "vhd-blank.vhd", "vmdk-stream.vmdk", "ova-good.ova", "raw-disk.raw", "vmdk-descriptor-only.vmdk"} {
		data := load(t, name)
		for from := int64(0); from < int64(len(data)); from += int64(len(data))/7 + 1 {
			report, err := inspect.Inspect(t.Context(), failing{data, from, broken}, int64(len(data)), inspect.Options{})
			if err == nil && report.Verdict == inspect.Reject {
				t.Errorf("%s failing at %d: %s", name, from, report.Reason)
			}
			if err != nil && !errors.Is(err, broken) {
				t.Errorf("%s failing at %d: %v", name, from, err)
			}
		}
	}
	_, err := inspect.Inspect(t.Context(), bytes.NewReader(nil), 4096, inspect.Options{})
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a file shorter than promised: %v", err)
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	data := load(t, "ova-good.ova")
	if _, err := inspect.Inspect(ctx, bytes.NewReader(data), int64(len(data)), inspect.Options{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestReport(t *testing.T) {
	data := load(t, "ova-v7.ova")
	r, err := inspect.Inspect(t.Context(), bytes.NewReader(data), int64(len(data)), inspect.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if artifact.CodeOf(r.Err()) != artifact.OldTar || artifact.RetryOf(r.Err()) != artifact.RetryNever || r.VirtualSizeBytes != 1<<20 || len(r.Warnings()) != 0 {
		t.Errorf("%+v", r)
	}
	data = load(t, "qcow2-dirty-bit.qcow2")
	if r, err = inspect.Inspect(t.Context(), bytes.NewReader(data), int64(len(data)), inspect.Options{}); err != nil || r.Err() != nil || len(r.Warnings()) != 1 {
		t.Errorf("%+v %v", r, err)
	}
}

// TestHugeVirtualDisk makes sure that an honest empty image of a huge size is read in no time.
func TestHugeVirtualDisk(t *testing.T) {
	data := load(t, "qcow2-4tib.qcow2")
	judge(t, data, inspect.Options{MaxVirtualSizeBytes: 1 << 50}, "", false)
}
