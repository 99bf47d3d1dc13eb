package unpack

import (
	"bufio"
	"compress/flate"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

const (
	gzipHeaderCRC = 1 << 1
	gzipExtra     = 1 << 2
	gzipName      = 1 << 3
	gzipComment   = 1 << 4
)

// Gunzip writes all members of r to w as "gunzip -q" does: zeros after the last member are padding, anything else there is an
// Error without text, after all of the content was written.
func Gunzip(w io.Writer, r io.Reader) error {
	br := bufio.NewReaderSize(r, 64<<10)
	for first := true; ; first = false {
		err := gzipHeader(br)
		switch {
		case errors.Is(err, errNotGzip) && !first:
			return &Error{}
		case errors.Is(err, io.EOF) && !first:
			return nil
		case err != nil:
			return failed(err, "not in gzip format")
		}
		if err := gzipMember(w, br); err != nil {
			return err
		}
		if err := skipZeros(br); err != nil {
			return failed(err, "")
		}
	}
}

// FirstGzip writes the first member of r to w without looking at its checksum. A stream that ends early is no error.
func FirstGzip(w io.Writer, r io.Reader) error {
	br := bufio.NewReaderSize(r, 64<<10)
	if err := gzipHeader(br); err != nil {
		return failed(err, "not in gzip format")
	}
	if _, err := br.Peek(1); err != nil {
		return &Error{Text: "File too short"}
	}
	return lenient(io.Copy(w, flate.NewReader(br)))
}

var errNotGzip = errors.New("no gzip magic")

func gzipHeader(br *bufio.Reader) error {
	var h [10]byte
	if n, err := io.ReadFull(br, h[:]); err != nil {
		if n == 0 {
			return io.EOF
		}
		if h[0] != 0x1f || n > 1 && h[1] != 0x8b {
			return errNotGzip
		}
		return io.ErrUnexpectedEOF
	}
	if h[0] != 0x1f || h[1] != 0x8b {
		return errNotGzip
	}
	if h[3]&gzipExtra != 0 {
		var n [2]byte
		if _, err := io.ReadFull(br, n[:]); err != nil {
			return io.ErrUnexpectedEOF
		}
		if _, err := br.Discard(int(binary.LittleEndian.Uint16(n[:]))); err != nil {
			return io.ErrUnexpectedEOF
		}
	}
	for _, flag := range []byte{gzipName, gzipComment} {
		if h[3]&flag == 0 {
			continue
		}
		if err := skipText(br); err != nil {
			return err
		}
	}
	if h[3]&gzipHeaderCRC != 0 {
		if _, err := br.Discard(2); err != nil {
			return io.ErrUnexpectedEOF
		}
	}
	return nil
}

func skipText(br *bufio.Reader) error {
	for {
		switch b, err := br.ReadByte(); {
		case err != nil:
			return io.ErrUnexpectedEOF
		case b == 0:
			return nil
		}
	}
}

func skipZeros(br *bufio.Reader) error {
	for {
		b, err := br.ReadByte()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("reading after the member: %w", err)
		case b != 0:
			return br.UnreadByte()
		}
	}
}

func gzipMember(w io.Writer, br *bufio.Reader) error {
	sum := crc32.NewIEEE()
	n, err := io.Copy(io.MultiWriter(w, sum), flate.NewReader(br))
	if err != nil {
		return failed(err, "invalid compressed data--format violated")
	}
	var tail [8]byte
	if _, err := io.ReadFull(br, tail[:]); err != nil {
		return failed(io.ErrUnexpectedEOF, "")
	}
	return gzipTrailer(sum.Sum32(), n, binary.LittleEndian.Uint32(tail[:]), binary.LittleEndian.Uint32(tail[4:]))
}

// gzipTrailer compares what came out with what the trailer promises. Both complaints may be made, one after the other.
func gzipTrailer(sum uint32, n int64, wantSum, wantLen uint32) error {
	switch badLen := uint32(n) != wantLen; {
	case sum != wantSum && badLen:
		return &Error{Text: "invalid compressed data--crc error\ninvalid compressed data--length error"}
	case sum != wantSum:
		return &Error{Text: "invalid compressed data--crc error"}
	case badLen:
		return &Error{Text: "invalid compressed data--length error"}
	}
	return nil
}

// lenient forgives a stream that ends early or a writer that has enough: the built-in decoders of file(1) show what they have.
func lenient(_ int64, err error) error {
	if err == nil || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, ErrTooLarge) {
		return nil
	}
	return &Error{Text: err.Error()}
}
