package compression

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"hash"
	"hash/crc32"
	"io"

	"github.com/ulikunitz/xz/lzma"

	"github.com/capcat/capcat/imagecatalog/artifact"
)

const (
	xzMagic       = "\xfd7zXZ\x00"
	xzFooterMagic = "YZ"
	xzHeaderLen   = 12
	xzLZMA2       = 0x21
)

// xzReader walks the container itself and leaves the LZMA2 data of each block to the library: that bounds the dictionary,
// which the library takes as large as the file says, and the index, which is compared by digest instead of being kept.
type xzReader struct {
	in  *bufio.Reader
	pos int64

	flags  [2]byte
	seen   hash.Hash
	blocks uint64

	block   *xzBlock
	started bool
}

// xzBlock is the block being read. Sizes that its header does not give are -1.
type xzBlock struct {
	lzma       *lzma.Reader2
	check      hash.Hash
	headerLen  int64
	start      int64
	packed     int64
	unpacked   int64
	wantPacked int64
	want       int64
}

func newXZReader(in *bufio.Reader) *xzReader { return &xzReader{in: in} }

func (x *xzReader) Close() error { return nil }

func (x *xzReader) Read(p []byte) (int, error) {
	for {
		if x.block == nil {
			if err := x.next(); err != nil {
				return 0, unlessEnd(err, x.started)
			}
		}
		n, err := x.block.lzma.Read(p)
		x.block.unpacked += int64(n)
		x.block.check.Write(p[:n])
		if errors.Is(err, io.EOF) {
			err = x.endBlock()
		} else if err == nil && x.block.want >= 0 && x.block.unpacked > x.block.want {
			err = corrupt("an xz block is larger than its header says")
		}
		if n > 0 || err != nil {
			return n, unexpected(err)
		}
	}
}

// unlessEnd keeps io.EOF only between streams.
func unlessEnd(err error, atStart bool) error {
	if atStart {
		return unexpected(err)
	}
	return err
}

// next opens the next block, going over the end of a stream into the following one. io.EOF comes with started false.
func (x *xzReader) next() error {
	for {
		if !x.started {
			if err := x.beginStream(); err != nil {
				return err
			}
		}
		size, err := x.byte()
		if err != nil {
			return err
		}
		if size != 0 {
			return x.beginBlock(size)
		}
		if err := x.endStream(); err != nil {
			return err
		}
		x.started = false
	}
}

// beginStream skips padding and reads the header of a stream; io.EOF when there is none.
func (x *xzReader) beginStream() error {
	first := x.pos == 0
	for !first {
		pad, err := x.in.Peek(4)
		if len(pad) == 0 {
			return err
		}
		if string(pad) != "\x00\x00\x00\x00" {
			break
		}
		if _, err := x.in.Discard(4); err != nil {
			return err
		}
	}
	head, err := x.in.Peek(xzHeaderLen)
	n := min(len(head), len(xzMagic))
	if string(head[:n]) != xzMagic[:n] {
		return trailing("xz")
	}
	x.started = true
	if len(head) < xzHeaderLen {
		return unexpected(err)
	}
	flags := head[6:8]
	if binary.LittleEndian.Uint32(head[8:]) != crc32.ChecksumIEEE(flags) || flags[0] != 0 || flags[1] > 0x0f {
		return corrupt("the header of an xz stream is damaged")
	}
	if newXZCheck(flags[1]) == nil {
		return corrupt("the xz stream uses check %d, which nobody defined", flags[1])
	}
	copy(x.flags[:], flags)
	x.seen, x.blocks = sha256.New(), 0
	_, err = x.in.Discard(xzHeaderLen)
	x.pos += xzHeaderLen
	return err
}

// beginBlock reads the header of a block and starts its decoder.
func (x *xzReader) beginBlock(size byte) error {
	b := &xzBlock{headerLen: (int64(size) + 1) * 4, check: newXZCheck(x.flags[1])}
	head := make([]byte, b.headerLen)
	head[0] = size
	if err := x.full(head[1:]); err != nil {
		return err
	}
	body := head[:len(head)-4]
	if binary.LittleEndian.Uint32(head[len(body):]) != crc32.ChecksumIEEE(body) {
		return corrupt("the header of an xz block is damaged")
	}
	dict, err := b.parse(body)
	if err != nil {
		return err
	}
	b.start = x.pos
	b.lzma, err = lzma.Reader2Config{DictCap: max(dict, lzma.MinDictCap)}.NewReader2(xzCounter{x})
	if err != nil {
		return err
	}
	x.block = b
	return nil
}

// parse reads the fields of a block header and gives the dictionary size.
func (b *xzBlock) parse(body []byte) (int, error) {
	flags, rest := body[1], body[2:]
	if flags&0x3f != 0 {
		return 0, corrupt("an xz block uses another filter than LZMA2 alone")
	}
	b.wantPacked, b.want = -1, -1
	for _, field := range []struct {
		bit byte
		to  *int64
	}{{0x40, &b.wantPacked}, {0x80, &b.want}} {
		if flags&field.bit == 0 {
			continue
		}
		v, n := xzVarint(rest)
		if n == 0 || v > 1<<62 {
			return 0, corrupt("the header of an xz block holds an impossible size")
		}
		*field.to, rest = int64(v), rest[n:]
	}
	if len(rest) < 3 || rest[0] != xzLZMA2 || rest[1] != 1 {
		return 0, corrupt("an xz block uses another filter than LZMA2")
	}
	for _, pad := range rest[3:] {
		if pad != 0 {
			return 0, corrupt("the header of an xz block has bytes where padding must be")
		}
	}
	code := rest[2]
	if code > 40 {
		return 0, corrupt("an xz block has an impossible dictionary size")
	}
	dict := uint64(2|code&1) << (code/2 + 11)
	if code == 40 {
		dict = 1<<32 - 1
	}
	if dict > artifact.MaxDecoderWindowBytes {
		return 0, windowTooLarge(dict)
	}
	return int(dict), nil
}

// endBlock checks padding, sizes and the check value, and notes the block for the index.
func (x *xzReader) endBlock() error {
	b := x.block
	b.packed = x.pos - b.start
	if b.wantPacked >= 0 && b.packed != b.wantPacked || b.want >= 0 && b.unpacked != b.want {
		return corrupt("the sizes of an xz block differ from its header")
	}
	if err := x.padding(b.packed); err != nil {
		return err
	}
	sum := make([]byte, xzCheckLen(x.flags[1]))
	if err := x.full(sum); err != nil {
		return err
	}
	if string(xzSum(b.check, x.flags[1])) != string(sum) {
		return corrupt("an xz block fails its check")
	}
	x.note(x.seen, uint64(b.headerLen+b.packed)+uint64(len(sum)), uint64(b.unpacked))
	x.blocks++
	x.block = nil
	return nil
}

// note adds an index record to a digest.
func (x *xzReader) note(to hash.Hash, packed, unpacked uint64) {
	var rec [16]byte
	binary.LittleEndian.PutUint64(rec[:], packed)
	binary.LittleEndian.PutUint64(rec[8:], unpacked)
	to.Write(rec[:])
}

// padding reads the zero bytes that fill n up to a multiple of four.
func (x *xzReader) padding(n int64) error {
	for ; n%4 != 0; n++ {
		b, err := x.byte()
		if err != nil {
			return err
		}
		if b != 0 {
			return corrupt("an xz block has bytes where padding must be")
		}
	}
	return nil
}

func (x *xzReader) byte() (byte, error) {
	b, err := x.in.ReadByte()
	if err != nil {
		return 0, unexpected(err)
	}
	x.pos++
	return b, nil
}

func (x *xzReader) full(p []byte) error {
	n, err := io.ReadFull(x.in, p)
	x.pos += int64(n)
	return unexpected(err)
}

// xzCounter counts what the decoder of a block uses up.
type xzCounter struct{ x *xzReader }

func (c xzCounter) Read(p []byte) (int, error) {
	n, err := c.x.in.Read(p)
	c.x.pos += int64(n)
	return n, err
}

func (c xzCounter) ReadByte() (byte, error) {
	b, err := c.x.in.ReadByte()
	if err == nil {
		c.x.pos++
	}
	return b, err
}
