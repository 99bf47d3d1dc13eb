package compression

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"path"
	"strings"

	"github.com/klauspost/compress/flate"

	"github.com/capcat/capcat/imagecatalog/artifact"
)

const (
	zipLocal      = "PK\x03\x04"
	zipCentral    = "PK\x01\x02"
	zipDescriptor = "PK\x07\x08"

	zipStored   = 0
	zipDeflated = 8

	zipFlagEncrypted  = 1 << 0
	zipFlagDescriptor = 1 << 3
	zipFlagPatch      = 1 << 5
	zipFlagStrong     = 1 << 6
	zipFlagMasked     = 1 << 13

	// zipMaxDirs bounds the directory entries that may stand beside the one file.
	zipMaxDirs = 64
)

// zipReader reads an archive of one regular file front to back: the local headers first, then the central directory, which
// must list exactly what was read. So nothing can hide between the entries or behind them.
type zipReader struct {
	in  *bufio.Reader
	src *source

	entries []zipEntry
	file    *zipFile
}

// zipEntry is a member as its local header and its data show it.
type zipEntry struct {
	name      string
	flags     uint16
	method    uint16
	crc       uint32
	packed    uint64
	unpacked  uint64
	offset    uint64
	zip64     bool
	directory bool
}

// zipFile is the one regular file while it is being read.
type zipFile struct {
	entry *zipEntry
	data  io.Reader
	start int64
	crc   uint32
	n     uint64
}

func newZipReader(in *bufio.Reader, src *source) *zipReader { return &zipReader{in: in, src: src} }

func (z *zipReader) Close() error { return nil }

// pos is the offset of the next byte.
func (z *zipReader) pos() int64 { return z.src.n - int64(z.in.Buffered()) }

func (z *zipReader) Read(p []byte) (int, error) {
	if z.file == nil {
		if err := z.advance(); err != nil {
			return 0, err
		}
	}
	n, err := z.file.data.Read(p)
	z.file.n += uint64(n)
	z.file.crc = crc32.Update(z.file.crc, crc32.IEEETable, p[:n])
	if errors.Is(err, io.EOF) {
		if err = z.endFile(z.file); err == nil {
			err = z.finish()
		}
	}
	return n, err
}

// advance goes over directory entries to the first regular file.
func (z *zipReader) advance() error {
	for {
		head, err := z.in.Peek(4)
		if len(head) < 4 {
			return unexpected(err)
		}
		if string(head) != zipLocal {
			if err := z.centralDirectory(); err != nil {
				return err
			}
			return artifact.NewError(artifact.EmptyFile, "the zip archive holds no regular file")
		}
		e, err := z.localHeader()
		if err != nil {
			return err
		}
		if !e.directory {
			z.entries = append(z.entries, e)
			z.file = z.open(&z.entries[len(z.entries)-1])
			return nil
		}
		if err := z.directory(e); err != nil {
			return err
		}
	}
}

// directory goes over the data of a directory, which some writers deflate to a few bytes, and notes the entry.
func (z *zipReader) directory(e zipEntry) error {
	f := z.open(&e)
	if e.method == zipDeflated && e.packed == 0 && e.flags&zipFlagDescriptor == 0 {
		f.data = &exactReader{in: z.in}
	}
	var one [1]byte
	if n, err := f.data.Read(one[:]); n > 0 {
		return corrupt("a directory of the zip archive has content")
	} else if !errors.Is(err, io.EOF) {
		return unexpected(err)
	}
	if err := z.endFile(f); err != nil {
		return err
	}
	if z.entries = append(z.entries, e); len(z.entries) > zipMaxDirs {
		return artifact.NewError(artifact.TooManyEntries, fmt.Sprintf("the zip archive has more than %d directories", zipMaxDirs))
	}
	return nil
}

// finish reads what stands behind the file: directories, then the central directory.
func (z *zipReader) finish() error {
	for {
		head, err := z.in.Peek(4)
		if len(head) < 4 {
			return unexpected(err)
		}
		if string(head) != zipLocal {
			if err := z.centralDirectory(); err != nil {
				return err
			}
			return io.EOF
		}
		e, err := z.localHeader()
		if err != nil {
			return err
		}
		if !e.directory {
			return artifact.NewError(artifact.MultipleFiles, "the zip archive holds more than one regular file")
		}
		if err := z.directory(e); err != nil {
			return err
		}
	}
}

// localHeader reads the header in front of a member.
func (z *zipReader) localHeader() (zipEntry, error) {
	e := zipEntry{offset: uint64(z.pos())}
	var h [30]byte
	if err := z.full(h[:]); err != nil {
		return e, err
	}
	le := binary.LittleEndian
	e.flags, e.method = le.Uint16(h[6:]), le.Uint16(h[8:])
	e.crc, e.packed, e.unpacked = le.Uint32(h[14:]), uint64(le.Uint32(h[18:])), uint64(le.Uint32(h[22:]))
	name, extra := make([]byte, le.Uint16(h[26:])), make([]byte, le.Uint16(h[28:]))
	if err := errors.Join(z.full(name), z.full(extra)); err != nil {
		return e, err
	}
	e.name = string(name)
	e.directory = strings.HasSuffix(e.name, "/")
	sizes := zip64Sizes(extra)
	e.zip64 = sizes != nil
	sizes = takeZip64(&e.unpacked, sizes)
	takeZip64(&e.packed, sizes)
	return e, e.check()
}

// check refuses what is never unpacked here.
func (e *zipEntry) check() error {
	switch {
	case e.flags&(zipFlagEncrypted|zipFlagStrong|zipFlagMasked) != 0:
		return artifact.NewError(artifact.Encrypted, "the zip member is encrypted")
	case leavesDirectory(e.name):
		return artifact.NewError(artifact.PathTraversal, fmt.Sprintf("the zip member is named %.80q", e.name))
	case e.flags&zipFlagPatch != 0:
		return corrupt("the zip member is a patch")
	case e.method != zipStored && e.method != zipDeflated:
		return corrupt("the zip member is compressed with method %d; only deflate is undone here", e.method)
	case e.directory && e.unpacked != 0:
		return corrupt("a directory of the zip archive has content")
	case e.name == "":
		return corrupt("a member of the zip archive has no name")
	case e.method == zipStored && e.flags&zipFlagDescriptor != 0 && !e.directory:
		return corrupt("the zip member is stored without its size")
	case e.method == zipStored && e.packed != e.unpacked:
		return corrupt("the sizes of the stored zip member differ")
	}
	return nil
}

// leavesDirectory says whether a member name points out of the directory it is unpacked to.
func leavesDirectory(name string) bool {
	slashed := strings.ReplaceAll(name, `\`, "/")
	clean := path.Clean(slashed)
	return strings.HasPrefix(slashed, "/") || clean == ".." || strings.HasPrefix(clean, "../") ||
		len(slashed) > 1 && slashed[1] == ':' || strings.ContainsRune(name, 0)
}

// open starts the data of a file.
func (z *zipReader) open(e *zipEntry) *zipFile {
	f := &zipFile{entry: e, start: z.pos()}
	if e.method == zipStored {
		f.data = &exactReader{in: z.in, left: e.packed}
	} else {
		f.data = flate.NewReader(z.in)
	}
	return f
}

// exactReader reads a number of bytes; fewer are an unexpected end.
type exactReader struct {
	in   io.Reader
	left uint64
}

func (x *exactReader) Read(p []byte) (int, error) {
	if x.left == 0 {
		return 0, io.EOF
	}
	n, err := x.in.Read(p[:min(uint64(len(p)), x.left)])
	x.left -= uint64(n)
	return n, unexpected(err)
}

// endFile compares the file with its header or with the descriptor behind it.
func (z *zipReader) endFile(f *zipFile) error {
	e := f.entry
	packed := uint64(z.pos() - f.start)
	if e.flags&zipFlagDescriptor != 0 {
		e.crc, e.packed, e.unpacked = f.crc, packed, f.n
		return z.descriptor(e)
	}
	if e.crc != f.crc || e.packed != packed || e.unpacked != f.n {
		return corrupt("the zip member fails its CRC or has another size than its header says")
	}
	return nil
}

// descriptor reads the sizes behind a member, in one of the four forms that are in use.
func (z *zipReader) descriptor(e *zipEntry) error {
	head, err := z.in.Peek(4)
	if len(head) < 4 {
		return unexpected(err)
	}
	le := binary.LittleEndian
	want := le.AppendUint32(nil, e.crc)
	skip := 0
	if string(head) == zipDescriptor {
		skip = 4
	}
	want32 := le.AppendUint32(le.AppendUint32(want[:4:4], uint32(e.packed)), uint32(e.unpacked))
	want64 := le.AppendUint64(le.AppendUint64(want[:4:4], e.packed), e.unpacked)
	long, _ := z.in.Peek(skip + len(want64))
	if len(long) == skip+len(want64) && string(long[skip:]) == string(want64) {
		_, err = z.in.Discard(len(long))
		return err
	}
	short, err := z.in.Peek(skip + len(want32))
	if len(short) < skip+len(want32) {
		return unexpected(err)
	}
	if string(short[skip:]) != string(want32) {
		return corrupt("the zip member fails its CRC or has another size than the descriptor behind it says")
	}
	_, err = z.in.Discard(len(short))
	return err
}

func (z *zipReader) full(p []byte) error {
	_, err := io.ReadFull(z.in, p)
	return unexpected(err)
}

// zip64Sizes is the body of the zip64 extra field, nil when there is none.
func zip64Sizes(extra []byte) []byte {
	le := binary.LittleEndian
	for len(extra) >= 4 {
		id, n := le.Uint16(extra), int(le.Uint16(extra[2:]))
		if n > len(extra)-4 {
			return nil
		}
		if id == 1 {
			return extra[4 : 4+n]
		}
		extra = extra[4+n:]
	}
	return nil
}

// takeZip64 replaces a 32-bit value that says "look in the extra field" and gives what is left of the field.
func takeZip64(v *uint64, field []byte) []byte {
	if *v == 1<<32-1 && len(field) >= 8 {
		*v = binary.LittleEndian.Uint64(field)
		return field[8:]
	}
	return field
}
