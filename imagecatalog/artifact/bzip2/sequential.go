package bzip2

import (
	"bytes"
	"errors"
	"io"

	"github.com/dsnet/compress/bzip2"
)

const (
	smallSize   = 64 << 10
	smallBlocks = 2
)

// sequential decodes small input with the decoder of dsnet, which takes no more memory than the data need. It is not for more than a
// few blocks: prefix codes with gaps, which lbzip2 writes for zeros, take it a quarter of a second for ten blocks.
type sequential struct {
	data []byte
	z    *bzip2.Reader
}

// openSmall returns a sequential decoder if the whole input is small, else nil.
func openSmall(in *window) *sequential {
	if in.fill(0, smallSize) || !errors.Is(in.err, io.EOF) {
		return nil
	}
	data, s := in.from(0), newScanner()
	for at, count := 0, 0; ; at++ {
		bit, isEnd, _, ok := s.find(data, at)
		if !ok {
			break
		}
		if at = bit; !isEnd {
			count++
		}
		if count > smallBlocks {
			return nil
		}
	}
	z, err := bzip2.NewReader(bytes.NewReader(data), nil)
	if err != nil {
		return nil
	}
	return &sequential{data: data, z: z}
}

func (s *sequential) Read(p []byte) (int, error) {
	n, err := s.z.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = s.explain(err)
	}
	return n, err
}

// explain says in our terms what is wrong with the data.
func (s *sequential) explain(err error) error {
	var r blocks
	r.init(bytes.NewReader(s.data), 1)
	defer r.ahead.crew.close()
	for buf := make([]byte, copySize); ; {
		switch _, own := r.Read(buf); {
		case errors.Is(own, io.EOF):
			return corrupt("%v", err)
		case own != nil:
			return own
		}
	}
}
