package images

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
)

// backed puts the name of a backing file into the header that is written first.
type backed struct {
	w    io.Writer
	name string
	past bool
}

// Write passes on.
func (b *backed) Write(p []byte) (int, error) {
	if b.past {
		return b.w.Write(p)
	}
	b.past = true
	const headerLength, endOfExtensions, firstKiB = 100, 8, 1024
	p = bytes.Clone(p)
	at := binary.BigEndian.Uint32(p[headerLength:]) + endOfExtensions
	binary.BigEndian.PutUint64(p[8:], uint64(at))
	binary.BigEndian.PutUint32(p[16:], uint32(copy(p[at:firstKiB], b.name)))
	return b.w.Write(p)
}

// memory is a file in memory.
type memory struct {
	data []byte
	at   int64
}

// Write writes at the place that was sought.
func (m *memory) Write(p []byte) (int, error) {
	if missing := m.at + int64(len(p)) - int64(len(m.data)); missing > 0 {
		m.data = append(m.data, make([]byte, missing)...)
	}
	m.at += int64(copy(m.data[m.at:], p))
	return len(p), nil
}

// Seek goes to an offset from the begin; nobody asks for others.
func (m *memory) Seek(offset int64, whence int) (int64, error) {
	if whence != io.SeekStart {
		return 0, errors.ErrUnsupported
	}
	m.at = offset
	return offset, nil
}
