package inspect

import (
	"bytes"
	"encoding/binary"
	"strconv"
	"strings"

	"github.com/capcat/capcat/imagecatalog/artifact"
)

const (
	tarBlock      = 512
	tarMaxHeaders = 4096
	tarMaxMeta    = 1 << 20
	tarMaxInRow   = 8
	tarMaxName    = 4096
	// tarBigSize is where the size field of a header is full, so that an extended header has to carry the size.
	tarBigSize = 1 << 33
	tarMaxSize = 1 << 62
)

// tarMember is a regular file of the archive.
type tarMember struct {
	name string
	at   int64
	size int64
}

// tarWalk goes over an archive once and judges every header. It keeps regular files only.
type tarWalk struct {
	*inspection
	off     int64
	headers int
	inRow   int
	members []tarMember
	names   map[string]bool
	// first is the name of the first member of any kind.
	first string

	longName string
	paxPath  string
	paxSize  int64
	pending  bool
}

// octal reads a field of octal digits with blanks and NULs around; false for anything else. An empty field is 0.
func octal(field []byte) (uint64, bool) {
	text := strings.Trim(string(field), " \x00")
	if text == "" {
		return 0, true
	}
	n, err := strconv.ParseUint(text, 8, 63)
	return n, err == nil
}

// tarNumber reads a size field, octal or in the base-256 form of GNU; false when it is negative, too large or damaged.
func tarNumber(field []byte) (int64, bool) {
	if field[0]&0x80 == 0 {
		n, ok := octal(field)
		return int64(n), ok && n <= tarMaxSize
	}
	if field[0] != 0x80 || !allZero(field[1:len(field)-8]) {
		return 0, false
	}
	n := binary.BigEndian.Uint64(field[len(field)-8:])
	return int64(n), n <= tarMaxSize
}

// tarSums adds up a header with the checksum field as blanks, as unsigned and as signed bytes.
func tarSums(h []byte) (unsigned uint64, signed int64) {
	for i, b := range h {
		if i >= 148 && i < 156 {
			b = ' '
		}
		unsigned += uint64(b)
		signed += int64(int8(b))
	}
	return unsigned, signed
}

// walk reads all headers. What it found until a fault stays usable.
func (t *tarWalk) walk() error {
	t.names, t.paxSize = map[string]bool{}, -1
	for {
		if t.headers++; t.headers > tarMaxHeaders {
			t.report.reject(artifact.TooManyEntries, "the archive has more than %d members", tarMaxHeaders)
			return nil
		}
		h, err := t.in.at(t.off, tarBlock)
		switch {
		case err != nil:
			return err
		case len(h) == 0:
			t.cleanEnd("the archive lacks the zero blocks at its end")
			return nil
		case len(h) < tarBlock:
			t.report.reject(artifact.TruncatedImage, "the archive ends inside a header, at byte %d", t.in.size)
			return nil
		case allZero(h):
			return t.end()
		}
		if ok, err := t.header(h); !ok {
			return err
		}
	}
}

func (t *tarWalk) cleanEnd(text string) {
	if t.pending {
		t.report.reject(artifact.BadArchive, "the archive ends behind an extended header")
		return
	}
	t.report.warn(artifact.MissingEndMarker, "%s", text)
}

// end judges what follows the first zero block: a second one, and then nothing but zeros.
func (t *tarWalk) end() error {
	if t.pending {
		t.report.reject(artifact.BadArchive, "the archive ends behind an extended header")
		return nil
	}
	if t.in.size-t.off < 2*tarBlock {
		t.report.warn(artifact.MissingEndMarker, "the archive ends with one zero block instead of two")
	}
	at := t.off
	return t.in.table(at, t.in.size-at, func(piece []byte) bool {
		if allZero(piece) {
			return true
		}
		t.report.reject(artifact.TrailingGarbage, "bytes follow the end of the archive at byte %d", at)
		return false
	})
}

// header judges one header and goes on behind its data; false when nothing behind it can be trusted.
func (t *tarWalk) header(h []byte) (bool, error) {
	sum, ok := octal(h[148:156])
	unsigned, signed := tarSums(h)
	if !ok || sum != unsigned && int64(sum) != signed {
		t.report.reject(artifact.BadArchive, "the header at byte %d fails its checksum", t.off)
		return false, nil
	}
	if string(h[ustarAt:ustarAt+5]) != ustarMagic {
		t.report.reject(artifact.OldTar, "the archive is an old tar without the ustar magic, which CloudStack refuses")
	}
	size, ok := tarNumber(h[124:136])
	if !ok {
		t.report.reject(artifact.BadArchive, "the header at byte %d has an impossible size", t.off)
		return false, nil
	}
	t.off += tarBlock
	switch h[156] {
	case 'x', 'g', 'L', 'K':
		return t.meta(h[156], size)
	}
	return t.member(h, size)
}

// meta reads a header that describes the next one.
func (t *tarWalk) meta(kind byte, size int64) (bool, error) {
	if t.inRow++; t.inRow > tarMaxInRow || size > tarMaxMeta {
		t.report.reject(artifact.BadArchive, "too many or too long extended headers at byte %d", t.off)
		return false, nil
	}
	if !t.in.holds(uint64(t.off), uint64(size)) {
		t.report.reject(artifact.TruncatedImage, "the archive ends inside an extended header, at byte %d", t.in.size)
		return false, nil
	}
	body, err := t.in.at(t.off, int(size))
	if err != nil {
		return false, err
	}
	t.off += padded(size)
	t.pending = t.pending || kind != 'g'
	switch kind {
	case 'L':
		name, _, _ := bytes.Cut(body, []byte{0})
		t.longName = string(name)
	case 'x', 'g':
		if fault := t.pax(body, kind == 'g'); fault != "" {
			t.report.reject(artifact.BadArchive, "the extended header before byte %d %s", t.off, fault)
			return false, nil
		}
	}
	return true, nil
}

// pax reads the records of an extended header and gives what is wrong with them.
func (t *tarWalk) pax(body []byte, global bool) string {
	for len(body) > 0 {
		key, value, rest, ok := paxRecord(body)
		if !ok {
			return "is malformed"
		}
		body = rest
		if global && (key == "path" || key == "size" || key == "linkpath") {
			return "gives every member the same " + key
		}
		switch key {
		case "path":
			t.paxPath = value
		case "size":
			size, err := strconv.ParseInt(value, 10, 64)
			if err != nil || size < 0 || size > tarMaxSize {
				return "holds an impossible size"
			}
			t.paxSize = size
		}
		if strings.HasPrefix(key, "GNU.sparse.") {
			t.report.reject(artifact.SparseEntry, "an archive member is stored sparse")
		}
	}
	return ""
}

// paxRecord reads "length key=value\n" and gives what follows it; false when it is something else.
func paxRecord(body []byte) (key, value string, rest []byte, ok bool) {
	digits, _, found := bytes.Cut(body, []byte{' '})
	n, err := strconv.Atoi(string(digits))
	if !found || err != nil || n <= len(digits)+1 || n > len(body) || body[n-1] != '\n' {
		return "", "", nil, false
	}
	key, value, found = strings.Cut(string(body[len(digits)+1:n-1]), "=")
	return key, value, body[n:], found && key != "" && !strings.ContainsRune(value, 0)
}

func padded(size int64) int64 { return (size + tarBlock - 1) &^ (tarBlock - 1) }

// member judges one member; false when its data is not all there.
func (t *tarWalk) member(h []byte, size int64) (bool, error) {
	name := t.name(h)
	if t.paxSize >= 0 && t.paxSize != size {
		if t.paxSize < tarBigSize {
			t.report.reject(artifact.BadArchive, "member %.80q has %d bytes by its header and %d by the extended one", name, size, t.paxSize)
			return false, nil
		}
		size = t.paxSize
	}
	t.longName, t.paxPath, t.paxSize, t.inRow, t.pending = "", "", -1, 0, false
	if t.first == "" {
		t.first = name
	}
	if len(name) > tarMaxName {
		t.report.reject(artifact.BadArchive, "a member has a name of %d bytes; %d are the most", len(name), tarMaxName)
		return false, nil
	}
	kind := h[156]
	if (kind == '0' || kind == 0) && strings.HasSuffix(name, "/") {
		kind = '5'
	}
	regular, hasData := t.judgeType(kind, name)
	clean := t.judgeName(name, kind == '5')
	if !hasData {
		if size != 0 {
			t.report.reject(artifact.BadArchive, "member %.80q has a size, but no room for data", name)
		}
		return true, nil
	}
	whole := t.in.holds(uint64(t.off), uint64(size))
	if !whole {
		t.report.reject(artifact.TruncatedImage, "the archive ends inside member %.80q", name)
	} else if regular {
		t.members = append(t.members, tarMember{name: clean, at: t.off, size: size})
	}
	t.off = min(t.off+padded(size), t.in.size)
	return whole, nil
}
