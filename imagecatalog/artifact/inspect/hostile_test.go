package inspect_test

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/capcat/capcat/imagecatalog/artifact"
	"github.com/capcat/capcat/imagecatalog/artifact/inspect"
)

// patch is one change of a good image.
type patch func([]byte) []byte

func be16(at int, v uint16) patch { return put(at, binary.BigEndian.AppendUint16(nil, v)...) }
func be32(at int, v uint32) patch { return put(at, binary.BigEndian.AppendUint32(nil, v)...) }
func be64(at int, v uint64) patch { return put(at, binary.BigEndian.AppendUint64(nil, v)...) }
func le32(at int, v uint32) patch { return put(at, binary.LittleEndian.AppendUint32(nil, v)...) }
func le64(at int, v uint64) patch { return put(at, binary.LittleEndian.AppendUint64(nil, v)...) }

// put overwrites bytes; a negative place counts from the end.
func put(at int, data ...byte) patch {
	return func(p []byte) []byte {
		if at < 0 {
			at += len(p)
		}
		copy(p[at:], data)
		return p
	}
}

func cut(n int) patch       { return func(p []byte) []byte { return p[:len(p)-n] } }
func keep(n int) patch      { return func(p []byte) []byte { return p[:n] } }
func add(tail string) patch { return func(p []byte) []byte { return append(p, tail...) } }
func all(each ...patch) patch {
	return func(p []byte) []byte {
		for _, f := range each {
			p = f(p)
		}
		return p
	}
}

// row is a changed image and what must be found: "" accepts, a code with warn set is a warning.
type row struct {
	change patch
	code   artifact.Code
	warn   bool
}

func check(t *testing.T, good []byte, o inspect.Options, rows map[string]row) {
	t.Helper()
	for name, r := range rows {
		t.Run(name, func(t *testing.T) {
			data := bytes.Clone(good)
			if r.change != nil {
				data = r.change(data)
			}
			judge(t, data, o, r.code, r.warn)
		})
	}
}

func judge(t *testing.T, data []byte, o inspect.Options, code artifact.Code, warn bool) {
	t.Helper()
	got, err := inspect.Inspect(t.Context(), bytes.NewReader(data), int64(len(data)), o)
	if err != nil {
		t.Fatal(err)
	}
	want := inspect.Reject
	switch {
	case code == "":
		want = inspect.Accept
	case warn:
		want = inspect.Warn
	}
	if got.Verdict != want || got.Reason != code {
		t.Errorf("%s %s %q, want %s %s; all: %+v", got.Verdict, got.Reason, got.Message, want, code, got.Findings)
	}
}

func TestHostileQCOW2(t *testing.T) {
	good := load(t, "qcow2-v3.qcow2")
	be := binary.BigEndian
	l1 := int(be.Uint64(good[40:]))
	l2 := int(be.Uint64(good[l1:]) & 0x00fffffffffffe00)
	ref := int(be.Uint64(good[48:]))
	block := int(be.Uint64(good[ref:]))
	headerLen := int(be.Uint32(good[100:]))
	first := 0
	for be.Uint64(good[l2+8*first:]) == 0 {
		first++
	}
	entry := l2 + 8*first
	data := be.Uint64(good[entry:])
	ext := func(id, n uint32) patch { return all(be32(headerLen, id), be32(headerLen+4, n)) }
	check(t, good, inspect.Options{Declared: artifact.QCOW2, Hypervisor: "KVM"}, map[string]row{
		"good":                         {code: ""},
		"magic only":                   {keep(4), artifact.TruncatedHeader, false},
		"seven bytes":                  {keep(7), artifact.TruncatedHeader, false},
		"v2 header cut":                {all(be32(4, 2), keep(71)), artifact.TruncatedHeader, false},
		"v3 header cut":                {keep(103), artifact.TruncatedHeader, false},
		"version 1":                    {be32(4, 1), artifact.UnsupportedVersion, false},
		"version 4":                    {be32(4, 4), artifact.UnsupportedVersion, false},
		"backing offset":               {be64(8, 0x200), artifact.BackingFile, false},
		"backing length alone":         {be32(16, 8), artifact.BackingFile, false},
		"cluster bits 8":               {be32(20, 8), artifact.BadHeader, false},
		"cluster bits 22":              {be32(20, 22), artifact.BadHeader, false},
		"cluster bits huge":            {be32(20, 1<<31), artifact.BadHeader, false},
		"virtual size 0":               {be64(24, 0), artifact.BadHeader, false},
		"virtual size odd":             {be64(24, 1<<20+1), artifact.BadHeader, false},
		"virtual size over the cap":    {be64(24, 1<<40+512), artifact.VirtualSizeTooLarge, false},
		"virtual size negative":        {be64(24, 1<<63), artifact.VirtualSizeTooLarge, false},
		"virtual size beyond L1":       {be64(24, 1<<40), artifact.BadHeader, false},
		"AES":                          {be32(32, 1), artifact.Encrypted, false},
		"LUKS":                         {be32(32, 2), artifact.Encrypted, false},
		"unknown encryption":           {be32(32, 77), artifact.Encrypted, false},
		"L1 without entries":           {be32(36, 0), artifact.BadHeader, false},
		"L1 huge":                      {be32(36, 1<<31), artifact.BadHeader, false},
		"L1 longer than the file":      {be32(36, 1<<21), artifact.L1OutsideFile, false},
		"L1 at 0":                      {be64(40, 0), artifact.BadHeader, false},
		"L1 off a cluster":             {be64(40, uint64(l1)+8), artifact.BadHeader, false},
		"L1 outside":                   {be64(40, 1<<40), artifact.L1OutsideFile, false},
		"L1 near the largest number":   {be64(40, 0xffffffffffff0000), artifact.L1OutsideFile, false},
		"L1 in the refcount table":     {be64(40, uint64(ref)), artifact.BadTable, false},
		"refcount table at 0":          {be64(48, 0), artifact.BadHeader, false},
		"refcount table outside":       {be64(48, 1<<40), artifact.TruncatedImage, false},
		"refcount table off a cluster": {be64(48, uint64(ref)+512), artifact.BadHeader, false},
		"refcount table huge":          {be32(56, 1<<30), artifact.BadHeader, false},
		"refcount table empty":         {be32(56, 0), artifact.BadHeader, false},
		"refcount block outside":       {be64(ref, 1<<40), artifact.TruncatedImage, false},
		"refcount block off a cluster": {be64(ref, 0x10200), artifact.BadTable, false},
		"refcount block in the L1":     {be64(ref, uint64(l1)), artifact.BadTable, false},
		"data counted as free":         {be16(block+2*int(data&0x00fffffffffffe00>>16), 0), artifact.BadTable, false},
		"header counted as free":       {be16(block, 0), artifact.BadTable, false},
		"no refcount block":            {be64(ref, 0), artifact.BadTable, false},
		"counted as free, not closed":  {all(be64(72, 1), be16(block, 0)), artifact.DirtyBit, true},
		"snapshots beyond the file":    {all(be32(60, 1), be64(64, 1<<40)), artifact.TruncatedImage, false},
		"snapshots at 0":               {be32(60, 1), artifact.BadHeader, false},
		"snapshots without number":     {all(be32(60, 1<<31), be64(64, 0x10000)), artifact.TooManyEntries, false},
		"corrupt and dirty":            {be64(72, 3), artifact.CorruptBit, false},
		"dirty":                        {be64(72, 1), artifact.DirtyBit, true},
		"data file bit":                {be64(72, 4), artifact.ExternalDataFile, false},
		"extended L2":                  {be64(72, 16), artifact.ExtendedL2, false},
		"bit 5":                        {be64(72, 32), artifact.UnknownIncompatBit, false},
		"bit 63":                       {be64(72, 1<<63), artifact.UnknownIncompatBit, false},
		"compatible bits nobody knows": {be64(80, 1<<40), "", false},
		"autoclear bits nobody knows":  {be64(88, 1<<40), "", false},
		"compression bit without type": {be64(72, 8), artifact.BadHeader, false},
		"compression type without bit": {put(104, 1), artifact.BadHeader, false},
		"compression type 2":           {all(be64(72, 8), put(104, 2)), artifact.BadHeader, false},
		"zstd":                         {all(be64(72, 8), put(104, 1)), artifact.ZstdCompression, true},
		"refcounts of 128 bits":        {be32(96, 7), artifact.BadHeader, false},
		"header length 96":             {be32(100, 96), artifact.BadHeader, false},
		"header length odd":            {be32(100, 109), artifact.BadHeader, false},
		"header length huge":           {be32(100, 1<<31), artifact.BadHeader, false},
		"data file extension":          {ext(0x44415441, 8), artifact.ExternalDataFile, false},
		"encryption extension":         {ext(0x0537be77, 16), artifact.Encrypted, false},
		"backing format extension":     {ext(0xe2792aca, 5), artifact.BackingFormatWithoutName, true},
		"unknown extension":            {all(ext(0x12345678, 8), be64(headerLen+16, 0)), "", false},
		"extension beyond the cluster": {ext(0x12345678, 1<<31), artifact.BadHeader, false},
		"extension of 4 GiB":           {ext(0x12345678, 1<<32-1), artifact.BadHeader, false},
		"extensions without end": {func(p []byte) []byte { // of no length each
			for at := headerLen; at < 65536; at += 8 {
				be.PutUint32(p[at:], 0x12345678)
				be.PutUint32(p[at+4:], 0)
			}
			return p
		}, artifact.TooManyEntries, false},
		"bitmap directory outside":      {all(be64(88, 1), ext(0x23852875, 24), be64(headerLen+16, 64), be64(headerLen+24, 1<<50)), artifact.TruncatedImage, false},
		"L2 table outside":              {be64(l1, 1<<63|1<<40), artifact.TruncatedImage, false},
		"L2 table off a cluster":        {be64(l1, 1<<63|uint64(l2)+512), artifact.BadTable, false},
		"L2 table with reserved bits":   {be64(l1, 1<<63|uint64(l2)|1), artifact.BadTable, false},
		"L2 table is the L1 table":      {be64(l1, 1<<63|uint64(l1)), artifact.BadTable, false},
		"L2 table is the header":        {be64(l1, 1<<63|1<<9), artifact.BadTable, false},
		"data outside":                  {be64(entry, 1<<63|1<<40), artifact.TruncatedImage, false},
		"data one cluster beyond":       {be64(entry, 1<<63|uint64(len(good))), artifact.TruncatedImage, false},
		"data off a cluster":            {be64(entry, data+512), artifact.BadTable, false},
		"data with reserved bits":       {be64(entry, data|1<<57), artifact.BadTable, false},
		"data in the L2 table":          {be64(entry, 1<<63|uint64(l2)), artifact.BadTable, false},
		"zero cluster":                  {be64(entry, data|1), "", false},
		"zero cluster without place":    {be64(entry, 1), "", false},
		"zero flag in version 2":        {all(be32(4, 2), be64(72, 0), be64(entry, data|1)), artifact.BadTable, false},
		"compressed beyond the file":    {be64(entry, 1<<62|1<<40), artifact.TruncatedImage, false},
		"compressed running out":        {be64(entry, 1<<62|0xff<<54|uint64(len(good)-100)), artifact.TruncatedImage, false},
		"compressed in the header":      {be64(entry, 1<<62|4096), artifact.BadTable, false},
		"cut in the last cluster":       {cut(40000), artifact.TruncatedImage, false},
		"cut by one byte":               {cut(1), artifact.TruncatedImage, false},
		"cut behind the first cluster":  {keep(65536), artifact.L1OutsideFile, false},
		"bytes behind the last cluster": {add("some more bytes that nothing refers to"), "", false},
	})
}

// TestSharedTablesAreRefused keeps a small file from asking for endless reading.
func TestSharedTablesAreRefused(t *testing.T) {
	good := load(t, "qcow2-4tib.qcow2")
	be := binary.BigEndian
	l1, n := int(be.Uint64(good[40:])), int(be.Uint32(good[36:]))
	data := append(bytes.Clone(good), make([]byte, 65536)...)
	for i := range n {
		be.PutUint64(data[l1+8*i:], 1<<63|uint64(len(good)))
	}
	judge(t, data, inspect.Options{MaxVirtualSizeBytes: 1 << 62}, artifact.BadTable, false)
}

func TestSnapshotTable(t *testing.T) {
	good := load(t, "qcow2-snapshot.qcow2")
	at := int(binary.BigEndian.Uint64(good[64:]))
	check(t, good, inspect.Options{}, map[string]row{
		"good":                {nil, artifact.InternalSnapshot, true},
		"L1 outside":          {be64(at, 1<<40), artifact.L1OutsideFile, false},
		"L1 huge":             {be32(at+8, 1<<30), artifact.L1OutsideFile, false},
		"more than there are": {be32(60, 60000), artifact.TruncatedImage, false},
		"long extra data":     {all(be32(60, 2), be32(at+36, 1<<31)), artifact.TruncatedImage, false},
		"long name":           {all(be32(60, 2), be16(at+14, 0xffff), be16(at+12, 0xffff)), artifact.TruncatedImage, false},
	})
}

// vhdSums sets the checksums of both footers and the dynamic header again.
func vhdSums(p []byte) []byte {
	for _, s := range []struct{ at, n, sum int }{{0, 512, 64}, {512, 1024, 36}, {len(p) - 512, 512, 64}} {
		if s.at < 0 || s.at+s.n > len(p) {
			continue
		}
		part := p[s.at : s.at+s.n]
		binary.BigEndian.PutUint32(part[s.sum:], 0)
		sum := uint32(0)
		for _, b := range part {
			sum += uint32(b)
		}
		binary.BigEndian.PutUint32(part[s.sum:], ^sum)
	}
	return p
}

// both changes the footer and its copy alike.
func both(at int, data ...byte) patch {
	return all(put(at, data...), put(-512+at, data...), vhdSums)
}

func TestHostileVHD(t *testing.T) {
	good := run(t, load(t, "vhd-dynamic.vhd.bz2"), inspect.Options{}).content
	bat := int(binary.BigEndian.Uint64(good[512+16:]))
	block := binary.BigEndian.Uint32(good[bat:])
	u64 := func(v uint64) []byte { return binary.BigEndian.AppendUint64(nil, v) }
	check(t, good, inspect.Options{Declared: artifact.VHD, Hypervisor: "XenServer"}, map[string]row{
		"good":                       {nil, "", false},
		"cookie only":                {keep(8), artifact.TruncatedHeader, false},
		"footer copy only":           {keep(512), artifact.TruncatedHeader, false},
		"checksum of the copy":       {put(65, 1), artifact.BadFooterChecksum, false},
		"checksum of the footer":     {put(-512+65, 1), artifact.BadFooterChecksum, false},
		"checksum of the header":     {put(512+37, 1), artifact.BadFooterChecksum, false},
		"version 2":                  {both(12, 0, 2, 0, 0), artifact.UnsupportedVersion, false},
		"fixed with a copy":          {both(60, 0, 0, 0, 2), artifact.FixedVHD, false},
		"differencing":               {both(60, 0, 0, 0, 4), artifact.DifferencingDisk, false},
		"type 9":                     {both(60, 0, 0, 0, 9), artifact.BadHeader, false},
		"virtual size 0":             {both(48, u64(0)...), artifact.BadHeader, false},
		"virtual size odd":           {both(48, u64(513)...), artifact.BadHeader, false},
		"virtual size over the cap":  {both(48, u64(1<<40+512)...), artifact.VirtualSizeTooLarge, false},
		"virtual size absurd":        {both(48, u64(1<<63)...), artifact.VirtualSizeTooLarge, false},
		"virtual size beyond blocks": {both(48, u64(1<<39)...), artifact.BadHeader, false},
		"UUID zero":                  {both(68, make([]byte, 16)...), artifact.BadHeader, false},
		"header outside":             {both(16, u64(1<<40)...), artifact.TruncatedImage, false},
		"header nowhere":             {both(16, u64(1<<64-1)...), artifact.BadHeader, false},
		"header at 0":                {both(16, u64(0)...), artifact.BadHeader, false},
		"header without cookie":      {all(put(512, 'x'), vhdSums), artifact.BadHeader, false},
		"header version":             {all(be32(512+24, 2), vhdSums), artifact.UnsupportedVersion, false},
		"parent UUID":                {all(put(512+40, 1), vhdSums), artifact.DifferencingDisk, false},
		"parent name":                {all(put(512+65, 'a'), vhdSums), artifact.DifferencingDisk, false},
		"parent locator":             {all(put(512+576, 'W', '2', 'k', 'u'), vhdSums), artifact.DifferencingDisk, false},
		"block table outside":        {all(be64(512+16, 1<<40), vhdSums), artifact.TruncatedImage, false},
		"block table absurd":         {all(be64(512+16, 1<<64-512), vhdSums), artifact.TruncatedImage, false},
		"block table in the header":  {all(be64(512+16, 512), vhdSums), artifact.BadHeader, false},
		"4 thousand million blocks":  {all(be32(512+28, 1<<32-1), vhdSums), artifact.TruncatedImage, false},
		"no blocks":                  {all(be32(512+28, 0), vhdSums), artifact.BadHeader, false},
		"blocks of 0 bytes":          {all(be32(512+32, 0), vhdSums), artifact.BadHeader, false},
		"blocks of 3 MiB":            {all(be32(512+32, 3<<20), vhdSums), artifact.BadHeader, false},
		"block outside":              {be32(bat, 1<<30), artifact.TruncatedImage, false},
		"block in the table":         {be32(bat, uint32(bat/512)), artifact.BadTable, false},
		"block in the footer copy":   {be32(bat, 0), artifact.BadTable, false},
		"blocks overlap":             {be32(bat+4, block+1), artifact.BadTable, false},
		"block twice":                {be32(bat+4, block), artifact.BadTable, false},
		"footers of two sizes":       {all(put(-512+54, 9), vhdSums), artifact.BadHeader, false},
		"footers of two UUIDs":       {all(put(-512+70, 1, 2, 3), vhdSums), artifact.BadHeader, false},
		"footer gone":                {cut(512), artifact.TruncatedImage, false},
		"cut by one byte":            {cut(1), artifact.TruncatedImage, false},
		"bytes behind the footer":    {add("junk"), artifact.TrailingGarbage, false},
		"copy gone":                  {put(0, make([]byte, 512)...), artifact.BadMagic, false},
		"qemu":                       {both(28, 'q', 'e', 'm', 'u'), artifact.QemuCreatedVHD, true},
		"qemu with force_size":       {both(28, 'q', 'e', 'm', '2'), artifact.QemuCreatedVHD, true},
	})
	judge(t, load(t, "vhd-fixed.vhd"), inspect.Options{Declared: artifact.RAW}, artifact.FormatMismatch, false)
	judge(t, load(t, "vhd-fixed.vhd"), inspect.Options{}, artifact.FixedVHD, false)
}

// withFooter moves the place of the grain directory from the header to a footer, as VMware writes it.
func withFooter(p []byte) []byte {
	foot, marker := bytes.Clone(p[:512]), make([]byte, 512)
	binary.LittleEndian.PutUint64(marker, 1)
	binary.LittleEndian.PutUint32(marker[12:], 3)
	out := le64(56, 1<<64-1)(bytes.Clone(p))
	return append(append(append(out, marker...), foot...), make([]byte, 512)...)
}

func TestHostileVMDK(t *testing.T) {
	judge(t, load(t, "vmdk-stream.vmdk"), inspect.Options{}, "", false)
	judge(t, cut(1)(load(t, "vmdk-stream.vmdk")), inspect.Options{}, artifact.TruncatedImage, false)
	good := withFooter(load(t, "vmdk-stream.vmdk"))
	le := binary.LittleEndian
	foot := len(good) - 1024
	gd := int(le.Uint64(good[foot+56:])) * 512
	gt := int(le.Uint32(good[gd:])) * 512
	first := 0
	for le.Uint32(good[gt+4*first:]) == 0 {
		first++
	}
	entry := gt + 4*first
	grain := int(le.Uint32(good[entry:])) * 512
	second := entry + 4
	for le.Uint32(good[second:]) == 0 {
		second += 4
	}
	text := func(from, to string) patch {
		return func(p []byte) []byte {
			at := bytes.Index(p, []byte(from))
			if at < 0 {
				t.Fatalf("no %q", from)
			}
			end := at + bytes.IndexByte(p[at:], 0)
			tail := bytes.Clone(p[at+len(from) : end])
			n := at + copy(p[at:], to)
			copy(p[n:], tail)
			return p
		}
	}
	headers := func(at int, data ...byte) patch { return all(put(at, data...), put(foot+at, data...)) }
	u64 := func(v uint64) []byte { return le.AppendUint64(nil, v) }
	check(t, good, inspect.Options{Declared: artifact.VMDK, Hypervisor: "VMware"}, map[string]row{
		"good":                      {nil, "", false},
		"magic only":                {keep(4), artifact.TruncatedHeader, false},
		"header cut":                {keep(511), artifact.TruncatedHeader, false},
		"version 0":                 {headers(4, 0), artifact.UnsupportedVersion, false},
		"version 4":                 {headers(4, 4), artifact.UnsupportedVersion, false},
		"old ESX kind":              {put(0, []byte("COWD")...), artifact.UnsupportedVersion, false},
		"text conversion":           {headers(75, '\n'), artifact.BadHeader, false},
		"capacity 0":                {headers(12, u64(0)...), artifact.BadHeader, false},
		"capacity over the cap":     {headers(12, u64(1<<32)...), artifact.VirtualSizeTooLarge, false},
		"capacity absurd":           {headers(12, u64(1<<60)...), artifact.VirtualSizeTooLarge, false},
		"capacity not the extent's": {headers(12, u64(8192)...), artifact.BadHeader, false},
		"grain 0":                   {headers(20, u64(0)...), artifact.BadHeader, false},
		"grain 100":                 {headers(20, u64(100)...), artifact.BadHeader, false},
		"grain huge":                {headers(20, u64(1<<40)...), artifact.BadHeader, false},
		"no descriptor":             {headers(28, u64(0)...), artifact.MissingDescriptor, false},
		"descriptor of zeros":       {put(512, make([]byte, 512)...), artifact.MissingDescriptor, false},
		"descriptor outside":        {headers(28, u64(1<<40)...), artifact.TruncatedImage, false},
		"descriptor huge":           {headers(36, u64(1<<40)...), artifact.BadHeader, false},
		"tables of 1 entry":         {headers(44, 1, 0), artifact.BadHeader, false},
		"overhead beyond the file":  {headers(64, u64(1<<60)...), artifact.TruncatedImage, false},
		"unclean":                   {headers(72, 1), artifact.DirtyBit, true},
		"compression 7":             {headers(77, 7), artifact.BadHeader, false},
		"compression without flag":  {headers(8, 3, 0, 0, 0), artifact.BadHeader, false},
		"markers alone":             {all(headers(8, 3, 0, 2, 0), headers(77, 0)), artifact.BadHeader, false},
		"parent":                    {text("parentCID=ffffffff", "parentCID=12345678"), artifact.ParentHint, false},
		"parent hint":               {text("createType", "parentFileNameHint=\"/etc/passwd\"\ncreateType"), artifact.ParentHint, false},
		"two extents":               {text("# The Disk Data Base", "RW 9 FLAT \"/etc/shadow\" 0\n#"), artifact.ExternalDataFile, false},
		"flat extent":               {text("SPARSE", "FLAT"), artifact.ExternalDataFile, false},
		"path":                      {text(`SPARSE "`, `SPARSE "/srv/`), artifact.ExternalDataFile, false},
		"up":                        {text(`SPARSE "`, `SPARSE "..`), artifact.ExternalDataFile, false},
		"windows path":              {text(`SPARSE "`, `SPARSE "c:\`), artifact.ExternalDataFile, false},
		"no extent":                 {text("RW 4096", "#W 4096"), artifact.BadHeader, false},
		"encrypted":                 {text("createType", "encryption.keySafe=\"x\"\ncreateType"), artifact.Encrypted, false},
		"another type":              {text(`"streamOptimized"`, `"monolithicSparse"`), artifact.NotStreamOptimized, true},
		"footer disagrees":          {put(foot+12, u64(8192)...), artifact.BadHeader, false},
		"footer without directory":  {put(foot+56, u64(0)...), artifact.BadHeader, false},
		"footer gone":               {cut(1024), artifact.TruncatedImage, false},
		"end marker gone":           {cut(512), artifact.TruncatedImage, false},
		"cut by one byte":           {cut(1), artifact.TruncatedImage, false},
		"header alone":              {keep(512), artifact.TruncatedImage, false},
		"directory outside":         {put(foot+56, u64(1<<40)...), artifact.TruncatedImage, false},
		"directory absurd":          {put(foot+56, u64(1<<62)...), artifact.TruncatedImage, false},
		"grain table outside":       {le32(gd, 1<<31), artifact.TruncatedImage, false},
		"grain outside":             {le32(entry, 1<<31), artifact.TruncatedImage, false},
		"grain twice":               {le32(second, uint32(grain/512)), artifact.BadTable, false},
		"grain of another place":    {le64(grain, 12345), artifact.BadTable, false},
		"grain of 0 bytes":          {le32(grain+8, 0), artifact.BadTable, false},
		"grain of 4 GiB":            {le32(grain+8, 1<<32-1), artifact.BadTable, false},
		"grain is a table":          {le32(entry, uint32(gt/512)), artifact.BadTable, false},
	})
	flat := load(t, "vmdk-descriptor-only.vmdk")
	judge(t, append([]byte("\xef\xbb\xbf\r\n"), flat...), inspect.Options{Declared: artifact.VMDK}, artifact.DescriptorOnlyVMDK, false)
	judge(t, flat, inspect.Options{}, artifact.DescriptorOnlyVMDK, false)
}
