package compression

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"

	"github.com/klauspost/compress/zstd"

	"github.com/capcat/capcat/imagecatalog/artifact"
)

const (
	zstdMagic     = "\x28\xb5\x2f\xfd"
	zstdSkippable = "\x2a\x4d\x18"
	zstdMaxHeader = 18
)

// zstdReader is the decoder behind a reader that follows the frames: the decoder alone takes up to three bytes of junk
// behind the last frame for the end, and a cut between two frames for a whole file.
type zstdReader struct {
	frames *zstdFrames
	dec    *zstd.Decoder
}

func newZstdReader(in *bufio.Reader) (*zstdReader, error) {
	frames := &zstdFrames{in: in}
	dec, err := zstd.NewReader(frames,
		zstd.WithDecoderConcurrency(1),
		zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(artifact.MaxDecoderWindowBytes),
		zstd.WithDecoderMaxMemory(1<<62))
	if err != nil {
		return nil, err
	}
	return &zstdReader{frames: frames, dec: dec}, nil
}

func (z *zstdReader) Read(p []byte) (int, error) {
	n, err := z.dec.Read(p)
	if err == nil {
		return n, nil
	}
	if fault := z.frames.fault; fault != nil && (errors.Is(err, fault) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)) {
		return n, fault
	}
	return n, err
}

func (z *zstdReader) Close() error {
	z.dec.Close()
	return nil
}

// zstdFrames passes a zstd file on, part by part: a header in part, or a body of pass bytes. Where the structure breaks,
// the bytes end with the fault.
type zstdFrames struct {
	in      *bufio.Reader
	part    []byte
	pass    int64
	inFrame bool
	last    bool
	sum     bool
	any     bool
	store   [zstdMaxHeader]byte
	// fault is why the bytes ended, nil for a proper end.
	fault error
	done  bool
}

func (f *zstdFrames) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for len(f.part) == 0 && f.pass == 0 {
		if f.fault != nil {
			return 0, f.fault
		}
		if f.done {
			return 0, io.EOF
		}
		if f.fault = f.advance(); f.fault != nil {
			f.part, f.pass = nil, 0
		}
	}
	if len(f.part) > 0 {
		n := copy(p, f.part)
		f.part = f.part[n:]
		return n, nil
	}
	n, err := f.in.Read(p[:min(int64(len(p)), f.pass)])
	f.pass -= int64(n)
	if err != nil {
		f.fault, f.pass = unexpected(err), 0
		return n, f.fault
	}
	return n, nil
}

// advance reads the next header.
func (f *zstdFrames) advance() error {
	switch {
	case !f.inFrame:
		return f.begin()
	case f.last:
		f.inFrame, f.last, f.any = false, false, true
		if f.sum {
			_, err := f.take(4)
			return err
		}
		return nil
	default:
		return f.block()
	}
}

// block reads the header of a block.
func (f *zstdFrames) block() error {
	h, err := f.take(3)
	if err != nil {
		return err
	}
	v := uint32(h[0]) | uint32(h[1])<<8 | uint32(h[2])<<16
	f.last = v&1 != 0
	switch (v >> 1) & 3 {
	case 1:
		f.pass = 1
	case 3:
		return corrupt("a zstd block is of the reserved type")
	default:
		f.pass = int64(v >> 3)
	}
	return nil
}

// begin reads the header of a frame, or finds the end of the file.
func (f *zstdFrames) begin() error {
	head, err := f.in.Peek(4)
	switch {
	case len(head) == 0 && errors.Is(err, io.EOF):
		f.done = true
		return nil
	case err != nil && !errors.Is(err, io.EOF):
		return err
	case !zstdPrefix(head):
		if f.any {
			return trailing("zstd")
		}
		return corrupt("a skippable zstd frame is followed by no frame")
	case len(head) < 4:
		return io.ErrUnexpectedEOF
	}
	if string(head) == zstdMagic {
		return f.header()
	}
	h, err := f.take(8)
	if err != nil {
		return err
	}
	f.pass = int64(binary.LittleEndian.Uint32(h[4:]))
	return nil
}

// zstdPrefix says whether the bytes begin a frame, as far as they go.
func zstdPrefix(head []byte) bool {
	if string(head) == zstdMagic[:len(head)] {
		return true
	}
	return head[0]&0xf0 == 0x50 && string(head[1:]) == zstdSkippable[:len(head)-1]
}

// header reads the header of a data frame and checks its window.
func (f *zstdFrames) header() error {
	start, err := f.in.Peek(6)
	if len(start) < 6 {
		return unexpected(err)
	}
	desc := start[4]
	single := desc&0x20 != 0
	size := 5 + []int{0, 1, 2, 4}[desc&3]
	content := []int{0, 2, 4, 8}[desc>>6]
	if single && content == 0 {
		content = 1
	}
	if !single {
		size++
		base := uint64(1) << (10 + start[5]>>3)
		if window := base + base/8*uint64(start[5]&7); window > artifact.MaxDecoderWindowBytes {
			return windowTooLarge(window)
		}
	}
	h, err := f.take(size + content)
	if err != nil {
		return err
	}
	if single && content == 8 {
		if window := binary.LittleEndian.Uint64(h[size:]); window > artifact.MaxDecoderWindowBytes {
			return windowTooLarge(window)
		}
	}
	if single && content == 4 {
		if window := uint64(binary.LittleEndian.Uint32(h[size:])); window > artifact.MaxDecoderWindowBytes {
			return windowTooLarge(window)
		}
	}
	f.inFrame, f.sum = true, desc&4 != 0
	return nil
}

// take moves n bytes of the input into part.
func (f *zstdFrames) take(n int) ([]byte, error) {
	if _, err := io.ReadFull(f.in, f.store[:n]); err != nil {
		return nil, unexpected(err)
	}
	f.part = f.store[:n]
	return f.part, nil
}

// unexpected is for an end of the input where there must be more.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
