package inspect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/bits"

	"github.com/capcat/capcat/imagecatalog/artifact"
)

// content is the bytes under inspection, read in bounded pieces.
type content struct {
	ctx  context.Context
	r    io.ReaderAt
	size int64
}

// holds says whether n bytes at off lie inside; it cannot overflow.
func (c *content) holds(off, n uint64) bool {
	size := uint64(c.size)
	return off <= size && n <= size-off
}

// read fills p from off. The caller has made sure that the range lies inside.
func (c *content) read(p []byte, off int64) error {
	if err := c.ctx.Err(); err != nil {
		return artifact.WrapError(artifact.Canceled, "inspecting", err)
	}
	n, err := c.r.ReadAt(p, off)
	if n == len(p) {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("reading %d bytes at %d of the image: %w", len(p), off, err)
}

// at gives up to n bytes from off, fewer at the end of the content; n is a constant of the caller.
func (c *content) at(off int64, n int) ([]byte, error) {
	left := c.size - off
	if off < 0 || left <= 0 {
		return nil, nil
	}
	p := make([]byte, min(int64(n), left))
	return p, c.read(p, off)
}

// part is a stretch of the content on its own.
func (c *content) part(off, n int64) *content {
	return &content{ctx: c.ctx, r: io.NewSectionReader(c.r, off, n), size: n}
}

// chunk is how much of a table is read at once.
const chunk = 64 << 10

// table calls each with pieces of n bytes at off, all but the last of chunk bytes. The caller has made sure that the
// range lies inside. It stops when each gives false.
func (c *content) table(off, n int64, each func(piece []byte) bool) error {
	buf := make([]byte, min(n, chunk))
	for n > 0 {
		piece := buf[:min(n, chunk)]
		if err := c.read(piece, off); err != nil {
			return err
		}
		if !each(piece) {
			return nil
		}
		off, n = off+int64(len(piece)), n-int64(len(piece))
	}
	return nil
}

// bitset marks units of the content: clusters or sectors.
type bitset []uint64

// newBitset makes room for as many units as the content really has, so that its size is never what a header says.
func (c *content) newBitset(unit int64) bitset { return make(bitset, c.size/unit/64+1) }

func (b bitset) has(i int64) bool { return i>>6 < int64(len(b)) && b[i>>6]&(1<<(i&63)) != 0 }

// add marks a unit; false when it was marked before or lies outside.
func (b bitset) add(i int64) bool {
	if i>>6 >= int64(len(b)) || b.has(i) {
		return false
	}
	b[i>>6] |= 1 << (i & 63)
	return true
}

// next is the first marked unit from i on, -1 when there is none.
func (b bitset) next(i int64) int64 {
	for word := i >> 6; word < int64(len(b)); word++ {
		rest := b[word]
		if word == i>>6 {
			rest &= ^uint64(0) << (i & 63)
		}
		if rest != 0 {
			return word<<6 + int64(bits.TrailingZeros64(rest))
		}
	}
	return -1
}

// with adds what another set of the same content marks.
func (b bitset) with(other bitset) bitset {
	for i := range other {
		b[i] |= other[i]
	}
	return b
}
