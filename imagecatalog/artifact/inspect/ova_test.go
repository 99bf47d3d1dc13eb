package inspect_test

import (
	"bytes"
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/capcat/capcat/imagecatalog/artifact"
	"github.com/capcat/capcat/imagecatalog/artifact/inspect"
)

// entry is one header with data of an archive.
type entry struct {
	name string
	data []byte
	kind byte
	// size overrides the size field when set, twelve bytes.
	size  string
	magic string
	// badSum breaks the checksum.
	badSum bool
}

func (e entry) bytes() []byte {
	h := make([]byte, 512)
	copy(h, e.name)
	copy(h[100:], "0000644\x000000000\x000000000\x00")
	size := fmt.Sprintf("%011o\x00", len(e.data))
	if e.size != "" {
		size = e.size
	}
	copy(h[124:136], size)
	copy(h[136:], "00000000000\x00        ")
	h[156] = '0'
	if e.kind != 0 {
		h[156] = e.kind
	}
	magic := "ustar\x0000"
	if e.magic != "" {
		magic = e.magic
	}
	copy(h[257:], magic)
	sum := 0
	for _, b := range h {
		sum += int(b)
	}
	if e.badSum {
		sum++
	}
	copy(h[148:], fmt.Sprintf("%06o\x00 ", sum))
	return append(append(h, e.data...), make([]byte, (512-len(e.data)%512)%512)...)
}

// tarOf puts entries together with the end of an archive.
func tarOf(entries ...entry) []byte {
	var out []byte
	for _, e := range entries {
		out = append(out, e.bytes()...)
	}
	return append(out, make([]byte, 1024)...)
}

func pax(records ...string) entry {
	var body strings.Builder
	for _, r := range records {
		n := len(r) + 3
		for len(fmt.Sprint(n))+len(r)+2 != n {
			n++
		}
		fmt.Fprintf(&body, "%d %s\n", n, r)
	}
	return entry{name: "PaxHeaders/x", kind: 'x', data: []byte(body.String())}
}

// appliance builds an OVA: good as it is, one change an option.
type appliance struct {
	disk     []byte
	href     string
	size     string
	capacity string
	units    string
	os       string
	before   []entry
	after    []entry
	edit     func(ovf string) string
	manifest func(a appliance, ovf []byte) string
}

func newAppliance(t testing.TB) appliance {
	t.Helper()
	disk := load(t, "vmdk-stream.vmdk")
	return appliance{disk: disk, href: "d.vmdk", size: fmt.Sprint(len(disk)), capacity: "2097152", units: "byte", os: `<OperatingSystemSection o:id="94"/>`}
}

func (a appliance) ovf() []byte {
	text := fmt.Sprintf(`<?xml version="1.0" encoding="UTF-8"?>
<Envelope xmlns="http://schemas.dmtf.org/ovf/envelope/1" xmlns:o="http://schemas.dmtf.org/ovf/envelope/1" xmlns:r="http://schemas.dmtf.org/wbem/wscim/1/cim-schema/2/CIM_ResourceAllocationSettingData" xmlns:v="http://www.vmware.com/schema/ovf">
<References><File o:id="f1" o:href=%q o:size=%q/></References>
<DiskSection><Info/><Disk o:diskId="d1" o:capacity=%q o:capacityAllocationUnits=%q o:fileRef="f1"/></DiskSection>
<VirtualSystem o:id="vm"><Info/>%s<VirtualHardwareSection><Info/>
<Item><r:HostResource>ovf:/disk/d1</r:HostResource><r:ResourceType>17</r:ResourceType></Item>
</VirtualHardwareSection></VirtualSystem></Envelope>`, a.href, a.size, a.capacity, a.units, a.os)
	if a.edit != nil {
		text = a.edit(text)
	}
	return []byte(text)
}

func (a appliance) bytes() []byte {
	ovf := a.ovf()
	entries := append([]entry{}, a.before...)
	entries = append(entries, entry{name: "n.ovf", data: ovf})
	if a.manifest != nil {
		entries = append(entries, entry{name: "n.mf", data: []byte(a.manifest(a, ovf))})
	}
	entries = append(entries, entry{name: "d.vmdk", data: a.disk})
	return tarOf(append(entries, a.after...)...)
}

func replaced(from, to string) func(string) string {
	return func(s string) string { return strings.ReplaceAll(s, from, to) }
}

// iso is what an ISO 9660 image shows of itself.
func iso() []byte { return put(32769, []byte("CD001")...)(make([]byte, 40000)) }

func TestAppliances(t *testing.T) {
	type change func(a *appliance)
	edit := func(from, to string) change { return func(a *appliance) { a.edit = replaced(from, to) } }
	after := func(e ...entry) change { return func(a *appliance) { a.after = e } }
	before := func(e ...entry) change { return func(a *appliance) { a.before = e } }
	disk := func(f patch) change {
		return func(a *appliance) { a.disk = f(a.disk); a.size = fmt.Sprint(len(a.disk)) }
	}
	capacity := func(n, units string) change { return func(a *appliance) { a.capacity, a.units = n, units } }
	guest := func(section string) change { return func(a *appliance) { a.os = section } }
	file := `<File o:id="f1"`
	rows := map[string]struct {
		change change
		code   artifact.Code
		warn   bool
	}{
		"good":                    {nil, "", false},
		"no prefix on attributes": {edit(" o:", " "), "", false},
		"another prefix": {func(a *appliance) {
			a.edit = func(s string) string { return replaced("xmlns:o", "xmlns:zz")(replaced(" o:", " zz:")(s)) }
		}, "", false},
		"MiB":                       {capacity("2", "byte * 2^20"), "", false},
		"MiB without blanks":        {capacity("2", "byte*2^20"), "", false},
		"bytes times a number":      {capacity("2048", "byte * 1024"), "", false},
		"old unit name":             {capacity("2", "MegaBytes"), "", false},
		"GiB too much":              {capacity("2", "byte * 2^30"), artifact.CapacityMismatch, false},
		"capacity too small":        {capacity("1048576", "byte"), artifact.CapacityMismatch, false},
		"decimal unit":              {capacity("2", "byte * 10^6"), artifact.CapacityMismatch, false},
		"capacity over the cap":     {capacity("2", "byte * 2^40"), artifact.VirtualSizeTooLarge, false},
		"unit absurd":               {capacity("2", "byte * 2^200"), artifact.VirtualSizeTooLarge, false},
		"capacity absurd":           {capacity("99999999999999999999999", "byte"), artifact.VirtualSizeTooLarge, false},
		"capacity that wraps":       {capacity("8589934593", "byte * 2^31"), artifact.VirtualSizeTooLarge, false},
		"capacity negative":         {capacity("-1", "byte"), artifact.BadOVF, false},
		"capacity a property":       {capacity("${size}", "byte"), artifact.BadOVF, false},
		"unit unknown":              {capacity("2", "furlong"), artifact.BadOVF, false},
		"unit with a bad power":     {capacity("2", "byte * 2^x"), artifact.BadOVF, false},
		"size of the file missing":  {edit(` o:size="`, ` o:was="`), "", false},
		"size of the file wrong":    {func(a *appliance) { a.size = "12345" }, artifact.FileSizeMismatch, false},
		"file missing":              {func(a *appliance) { a.href = "other.vmdk" }, artifact.MissingDisk, false},
		"file elsewhere":            {func(a *appliance) { a.href = "http://192.0.2.1/d.vmdk" }, artifact.ExternalDataFile, false},
		"file of the host":          {func(a *appliance) { a.href = "file:///etc/passwd" }, artifact.ExternalDataFile, false},
		"file above":                {func(a *appliance) { a.href = "../d.vmdk" }, artifact.PathTraversal, false},
		"file with encoded name":    {func(a *appliance) { a.href = "%64%2Evmdk" }, "", false},
		"name with a percent sign":  {func(a *appliance) { a.href = "100%.vmdk" }, artifact.MissingDisk, false},
		"file above, encoded":       {func(a *appliance) { a.href = "%2E%2E/d.vmdk" }, artifact.PathTraversal, false},
		"file absolute":             {func(a *appliance) { a.href = "/d.vmdk" }, artifact.PathTraversal, false},
		"second file missing":       {edit(file, `<File o:id="f0" o:href="x.nvram"/>`+file), artifact.MissingDisk, false},
		"file id twice":             {edit(file, `<File o:id="f1" o:href="d.vmdk"/>`+file), artifact.BadOVF, false},
		"disk without a file":       {edit(` o:fileRef="f1"`, ""), artifact.MissingDisk, false},
		"disk of an unknown file":   {edit(`o:fileRef="f1"`, `o:fileRef="f7"`), artifact.MissingDisk, false},
		"disk with a parent":        {edit(`o:fileRef="f1"`, `o:fileRef="f1" o:parentRef="d0"`), artifact.ParentHint, false},
		"no disk":                   {edit("<Disk ", "<Dusk "), artifact.MissingDisk, false},
		"device of an unknown disk": {edit("ovf:/disk/d1", "ovf:/disk/d9"), artifact.MissingDisk, false},
		"two disks":                 {edit("<DiskSection><Info/>", `<DiskSection><Info/><Disk o:diskId="d2" o:capacity="0"/>`), artifact.MultiDiskOVA, false},
		"two systems":               {edit("</Envelope>", `<VirtualSystem o:id="b"/></Envelope>`), artifact.BadOVF, false},
		"disk of another namespace": {edit("<DiskSection><Info/>", `<DiskSection><Info/><x:Disk xmlns:x="urn:x"/>`), "", false},
		"not OVF":                   {edit("http://schemas.dmtf.org/ovf/envelope/1", "urn:other"), artifact.BadOVF, false},
		"another root":              {func(a *appliance) { a.edit = func(string) string { return "<html/>" } }, artifact.BadOVF, false},
		"descriptor empty":          {func(a *appliance) { a.edit = func(string) string { return "" } }, artifact.BadOVF, false},
		"descriptor cut":            {edit("</Envelope>", ""), artifact.BadOVF, false},
		"two roots":                 {edit("</Envelope>", "</Envelope><Envelope xmlns='http://schemas.dmtf.org/ovf/envelope/1'/>"), artifact.BadOVF, false},
		"entities":                  {edit("<Envelope", `<!DOCTYPE e [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]><Envelope`), artifact.BadOVF, false},
		"external entity":           {edit("<Envelope", `<!DOCTYPE e SYSTEM "file:///etc/passwd"><Envelope`), artifact.BadOVF, false},
		"undefined entity":          {edit("<Info/>", "<Info>&x;</Info>"), artifact.BadOVF, false},
		"another encoding":          {edit(`"UTF-8"`, `"UTF-7"`), artifact.BadOVF, false},
		"Latin-1": {func(a *appliance) {
			a.edit = func(s string) string {
				return replaced("<Info/>", "<Info>\xe9</Info>")(replaced("UTF-8", "ISO-8859-1")(s))
			}
		}, "", false},
		"byte order mark":             {edit("<?xml", "\xef\xbb\xbf<?xml"), "", false},
		"CD drive with a file":        {edit("</VirtualHardwareSection>", "<Item><r:HostResource>ovf:/file/f1</r:HostResource><r:ResourceType>15</r:ResourceType></Item></VirtualHardwareSection>"), artifact.IsoInside, false},
		"nested too deep":             {edit("</Envelope>", strings.Repeat("<a>", 100)+strings.Repeat("</a>", 100)+"</Envelope>"), artifact.BadOVF, false},
		"descriptor too large":        {edit("</Envelope>", strings.Repeat(" ", 5<<20)+"</Envelope>"), artifact.BadOVF, false},
		"too many files":              {edit("<References>", "<References>"+strings.Repeat(`<File/>`, 5000)), artifact.BadOVF, false},
		"guest id unknown":            {guest(`<OperatingSystemSection o:id="9999"/>`), artifact.UnknownGuestOS, true},
		"guest id a word":             {guest(`<OperatingSystemSection o:id="linux"/>`), artifact.UnknownGuestOS, true},
		"guest type unknown":          {guest(`<OperatingSystemSection o:id="94" v:osType="templeGuest"/>`), artifact.UnknownGuestOS, true},
		"guest type known":            {guest(`<OperatingSystemSection o:id="96" v:osType="debian12_64Guest"/>`), "", false},
		"guest type of image-builder": {guest(`<OperatingSystemSection o:id="101" v:osType="otherlinux-64"/>`), "", false},
		"guest missing":               {guest(""), artifact.UnknownGuestOS, true},
		"second descriptor":           {after(entry{name: "z.ovf", data: []byte("<a/>")}), artifact.MultipleOVF, false},
		"unreferenced disk":           {after(entry{name: "extra.vmdk", data: []byte("x")}), artifact.MultiDiskOVA, false},
		"unreferenced text":           {after(entry{name: "README", data: []byte("x")}), artifact.UnreferencedFile, true},
		"ISO by name":                 {after(entry{name: "seed.iso", data: []byte("x")}), artifact.IsoInside, false},
		"ISO by content":              {after(entry{name: "seed.bin", data: iso()}), artifact.IsoInside, false},
		"certificate":                 {after(entry{name: "n.cert", data: []byte("x")}), artifact.SignedNotVerified, true},
		"descriptor not first":        {before(entry{name: "n.cert", data: []byte("x")}), artifact.OVFNotFirst, true},
		"directory in front":          {before(entry{name: "./", kind: '5'}), artifact.OVFNotFirst, true},
		"disk in an archive":          {disk(func(p []byte) []byte { return tarOf(entry{name: "n.ovf", data: []byte("<a/>")}) }), artifact.FormatMismatch, false},
		"disk is qcow2":               {disk(func(p []byte) []byte { return append([]byte("QFI\xfb"), p...) }), artifact.FormatMismatch, false},
		"disk is gzip":                {disk(put(0, 0x1f, 0x8b, 8)), artifact.FormatMismatch, false},
		"disk is text":                {disk(func([]byte) []byte { return []byte("# Disk DescriptorFile\nRW 4096 FLAT \"/etc/shadow\" 0\n") }), artifact.DescriptorOnlyVMDK, false},
		"disk is empty":               {disk(keep(0)), artifact.EmptyFile, false},
		"disk is cut":                 {disk(keep(100_000)), artifact.TruncatedImage, false},
		"disk has a parent": {disk(func(p []byte) []byte {
			return bytes.Replace(p, []byte("parentCID=ffffffff"), []byte("parentCID=00000001"), 1)
		}), artifact.ParentHint, false},
		"symbolic link":           {after(entry{name: "l", kind: '2'}), artifact.LinkEntry, false},
		"hard link":               {after(entry{name: "l", kind: '1'}), artifact.LinkEntry, false},
		"character device":        {after(entry{name: "l", kind: '3'}), artifact.SpecialEntry, false},
		"block device":            {after(entry{name: "l", kind: '4'}), artifact.SpecialEntry, false},
		"pipe":                    {after(entry{name: "l", kind: '6'}), artifact.SpecialEntry, false},
		"unknown type":            {after(entry{name: "l", kind: 'Z'}), artifact.SpecialEntry, false},
		"GNU sparse":              {after(entry{name: "l", kind: 'S'}), artifact.SparseEntry, false},
		"pax sparse":              {after(pax("GNU.sparse.major=1", "GNU.sparse.minor=0"), entry{name: "l"}), artifact.SparseEntry, false},
		"absolute name":           {after(entry{name: "/etc/passwd"}), artifact.PathTraversal, false},
		"name above":              {after(entry{name: "a/../../b"}), artifact.PathTraversal, false},
		"name above inside":       {after(entry{name: "a/../b"}), artifact.PathTraversal, false},
		"backslash name":          {after(entry{name: `..\b`}), artifact.PathTraversal, false},
		"drive name":              {after(entry{name: `c:b`}), artifact.PathTraversal, false},
		"pax name above":          {after(pax("path=../../b"), entry{name: "b"}), artifact.PathTraversal, false},
		"GNU long name above":     {after(entry{name: "././@LongLink", kind: 'L', data: []byte("../b\x00")}, entry{name: "b"}), artifact.PathTraversal, false},
		"deep name":               {after(entry{name: "a/b/c"}), artifact.SubdirectoryEntry, false},
		"no name":                 {after(entry{name: ""}), artifact.BadArchive, false},
		"name twice":              {after(entry{name: "d.vmdk", data: []byte("x")}), artifact.DuplicateEntry, false},
		"name twice, with a dot":  {after(entry{name: "./d.vmdk", data: []byte("x")}), artifact.DuplicateEntry, false},
		"pax name twice":          {after(pax("path=n.ovf"), entry{name: "q"}), artifact.DuplicateEntry, false},
		"checksum":                {after(entry{name: "b", badSum: true}), artifact.BadArchive, false},
		"size beyond the archive": {after(entry{name: "b", size: "77777777777\x00"}), artifact.TruncatedImage, false},
		"size negative":           {after(entry{name: "b", size: strings.Repeat("\xff", 12)}), artifact.BadArchive, false},
		"size absurd":             {after(entry{name: "b", size: "\x80\x00\x00\x00\x7f" + strings.Repeat("\xff", 7)}), artifact.BadArchive, false},
		"size no number":          {after(entry{name: "b", size: "zzz"}), artifact.BadArchive, false},
		"pax size differs":        {after(pax("size=0"), entry{name: "b", data: []byte("hidden")}), artifact.BadArchive, false},
		"pax size beyond":         {after(pax("size=99999999999999"), entry{name: "b"}), artifact.TruncatedImage, false},
		"pax size negative":       {after(pax("size=-1"), entry{name: "b"}), artifact.BadArchive, false},
		"pax record malformed":    {after(entry{name: "x", kind: 'x', data: []byte("999 a=b\n")}, entry{name: "b"}), artifact.BadArchive, false},
		"pax record without =":    {after(pax("abc"), entry{name: "b"}), artifact.BadArchive, false},
		"pax of 2 MiB":            {after(entry{name: "x", kind: 'x', data: make([]byte, 2<<20)}, entry{name: "b"}), artifact.BadArchive, false},
		"pax upon pax":            {after(pax("a=1"), pax("a=1"), pax("a=1"), pax("a=1"), pax("a=1"), pax("a=1"), pax("a=1"), pax("a=1"), pax("a=1"), entry{name: "b"}), artifact.BadArchive, false},
		"pax at the end":          {after(pax("a=1")), artifact.BadArchive, false},
		"global pax with a size":  {after(entry{name: "g", kind: 'g', data: []byte("9 size=0\n")}, entry{name: "b"}), artifact.BadArchive, false},
		"very long name":          {after(pax("path="+strings.Repeat("a", 5000)), entry{name: "b"}), artifact.BadArchive, false},
		"directory with a size":   {after(entry{name: "d/", kind: '5', size: "00000001000\x00"}), artifact.BadArchive, false},
		"too many members":        {after(manyEntries(4100)...), artifact.TooManyEntries, false},
		"old tar":                 {after(entry{name: "b", magic: "\x00\x00\x00\x00\x00\x00\x00\x00"}), artifact.OldTar, false},
	}
	for name, r := range rows {
		t.Run(name, func(t *testing.T) {
			a := newAppliance(t)
			if r.change != nil {
				r.change(&a)
			}
			judge(t, a.bytes(), inspect.Options{Declared: artifact.OVA, Hypervisor: "VMware"}, r.code, r.warn)
		})
	}
}

func manyEntries(n int) []entry {
	out := make([]entry, n)
	for i := range out {
		out[i] = entry{name: fmt.Sprintf("m%d", i)}
	}
	return out
}

func TestManifests(t *testing.T) {
	sha256Of := func(p []byte) string { return fmt.Sprintf("%x", sha256.Sum256(p)) }
	lines := func(form string, sum func([]byte) string) func(appliance, []byte) string {
		return func(a appliance, ovf []byte) string {
			return fmt.Sprintf(form, "n.ovf", sum(ovf)) + fmt.Sprintf(form, "d.vmdk", sum(a.disk))
		}
	}
	for name, r := range map[string]struct {
		manifest func(appliance, []byte) string
		code     artifact.Code
		warn     bool
	}{
		"SHA256":            {lines("SHA256(%s)= %s\n", sha256Of), "", false},
		"upper case digits": {lines("SHA256(%s)= %s\n", func(p []byte) string { return strings.ToUpper(sha256Of(p)) }), "", false},
		"blanks and CR":     {lines("SHA256(%s)   =   %s\r\n\r\n", sha256Of), "", false},
		"SHA512":            {lines("SHA512(%s)= %s\n", func(p []byte) string { return fmt.Sprintf("%x", sha512.Sum512(p)) }), "", false},
		"SHA1":              {lines("SHA1(%s)= %s\n", func(p []byte) string { return fmt.Sprintf("%x", sha1.Sum(p)) }), artifact.WeakManifestDigest, true},
		"MD5":               {lines("MD5(%s)= %s\n", func(p []byte) string { return fmt.Sprintf("%x", md5.Sum(p)) }), artifact.WeakManifestDigest, true},
		"SHA2-256":          {lines("SHA2-256(%s)= %s\n", sha256Of), artifact.UnusualDigestName, true},
		"SHA-256":           {lines("SHA-256(%s)= %s\n", sha256Of), artifact.UnusualDigestName, true},
		"blank before (":    {lines("SHA256 (%s) = %s\n", sha256Of), artifact.UnusualDigestName, true},
		"wrong digest":      {lines("SHA256(%s)= %s\n", func(p []byte) string { return sha256Of(append([]byte("x"), p...)) }), artifact.ManifestMismatch, false},
		"short digest":      {lines("SHA256(%s)= %s\n", func(p []byte) string { return sha256Of(p)[:62] }), artifact.ManifestMismatch, false},
		"unknown algorithm": {lines("CRC32(%s)= %s\n", sha256Of), artifact.ManifestMismatch, false},
		"text":              {func(appliance, []byte) string { return "hello" }, artifact.ManifestMismatch, false},
		"empty":             {func(appliance, []byte) string { return "" }, artifact.ManifestMismatch, false},
		"disk not listed":   {func(a appliance, ovf []byte) string { return "SHA256(n.ovf)= " + sha256Of(ovf) }, artifact.ManifestMismatch, false},
		"a name too many": {func(a appliance, ovf []byte) string {
			return lines("SHA256(%s)= %s\n", sha256Of)(a, ovf) + "SHA256(gone.vmdk)= " + sha256Of(nil)
		}, artifact.ManifestMismatch, false},
		"two digests, one wrong": {func(a appliance, ovf []byte) string {
			return lines("SHA256(%s)= %s\n", sha256Of)(a, ovf) + "SHA256(d.vmdk)= " + sha256Of(nil)
		}, artifact.ManifestMismatch, false},
		"too large": {func(a appliance, ovf []byte) string { return strings.Repeat("\n", 2<<20) }, artifact.ManifestMismatch, false},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAppliance(t)
			a.manifest = r.manifest
			judge(t, a.bytes(), inspect.Options{Declared: artifact.OVA}, r.code, r.warn)
		})
	}
}

func TestArchiveEnds(t *testing.T) {
	good := newAppliance(t).bytes()
	check(t, good, inspect.Options{Declared: artifact.OVA}, map[string]row{
		"good":                   {nil, "", false},
		"padded":                 {add(string(make([]byte, 10240))), "", false},
		"padded by odd bytes":    {add(string(make([]byte, 100))), "", false},
		"one zero block":         {cut(512), artifact.MissingEndMarker, true},
		"no zero block":          {cut(1024), artifact.MissingEndMarker, true},
		"cut in the last member": {cut(2000), artifact.TruncatedImage, false},
		"cut in a header":        {keep(512 + 4096 - 1000), artifact.TruncatedImage, false},
		"bytes behind the end":   {add("junk"), artifact.TrailingGarbage, false},
		"second archive":         {add(string(good)), artifact.TrailingGarbage, false},
	})
	judge(t, tarOf(entry{name: "box.img", data: []byte("x")}), inspect.Options{Declared: artifact.OVA}, artifact.FormatMismatch, false)
	judge(t, tarOf(entry{name: "box.img", data: []byte("x")}), inspect.Options{}, artifact.FormatMismatch, false)
}

// TestBigNumbers builds an archive with a size in the base-256 form of GNU.
func TestBigNumbers(t *testing.T) {
	size := append([]byte{0x80, 0, 0, 0}, binary.BigEndian.AppendUint64(nil, 3)...)
	a := newAppliance(t)
	a.after = []entry{{name: "n.cert", data: []byte("abc"), size: string(size)}}
	judge(t, a.bytes(), inspect.Options{}, artifact.SignedNotVerified, true)
}
