package disk

import (
	"bytes"
	"context"
	"iter"
	"sync"

	"github.com/capcat/capcat/imagecatalog/artifact/internal/ordered"
)

// PieceSize is how much is read at once, in bytes. No image format that is read here has larger units.
const PieceSize = 2 << 20

// IsZero says whether all bytes are zero.
func IsZero(p []byte) bool {
	return len(p) == 0 || p[0] == 0 && bytes.Equal(p[1:], p[:len(p)-1])
}

// written lists the pieces that may hold something else than zeros. A fault of the map ends the list and is left in err.
func written(img Image, err *error) iter.Seq[int64] {
	return func(yield func(int64) bool) {
		m, mapped := img.(Mapped)
		pieces := (img.Size()-1)/PieceSize + 1
		for i := int64(0); i < pieces; i++ {
			if mapped {
				begin, _, fault := m.Next(i * PieceSize)
				if fault != nil {
					*err = fault
					return
				}
				if begin >= img.Size() {
					return
				}
				i = begin / PieceSize
			}
			if !yield(i) {
				return
			}
		}
	}
}

// Each reads the disk in pieces of PieceSize, lets work make something of every piece that is not all zeros, on all
// processors at once, and hands the results to emit in the order of the disk, in the caller's goroutine. What lies behind
// the end of the disk in its last piece is zero. Work may keep nothing of the bytes that it is given. Nothing is handed to
// emit for a piece of zeros.
func Each[T any](ctx context.Context, img Image, work func(piece int64, data []byte) (T, error), emit func(piece int64, out T) error) error {
	type result struct {
		out   T
		empty bool
	}
	buffers := sync.Pool{New: func() any { p := make([]byte, PieceSize); return &p }}
	var fault error
	err := ordered.Run(ctx, written(img, &fault), func(i int64) (result, error) {
		p, _ := buffers.Get().(*[]byte)
		defer buffers.Put(p)
		if err := Read(img, *p, i*PieceSize); err != nil {
			return result{}, err
		}
		if IsZero(*p) {
			return result{empty: true}, nil
		}
		out, err := work(i, *p)
		return result{out: out}, err
	}, func(i int64, r result) error {
		if r.empty {
			return nil
		}
		return emit(i, r.out)
	})
	if err == nil {
		err = fault
	}
	return err
}
