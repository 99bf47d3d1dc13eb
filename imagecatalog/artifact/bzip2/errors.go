package bzip2

import (
	"errors"
	"fmt"
)

// The kinds of failure, found with errors.Is. Every error that [Reader] returns, other than io.EOF, those of the reader it
// reads from and ErrClosed, is one of the first three.
var (
	// ErrTruncated: the input ends before a stream is complete. Empty input is truncated too.
	ErrTruncated = errors.New("bzip2 data is truncated")
	// ErrCorrupt: the input is not bzip2, or a block or a stream contradicts its checksum or the format.
	ErrCorrupt = errors.New("bzip2 data is corrupt")
	// ErrTrailing: a complete stream is followed by bytes that begin no other.
	ErrTrailing = errors.New("trailing bytes after the bzip2 data")
	// ErrClosed: the Reader was closed.
	ErrClosed = errors.New("bzip2 reader is closed")
)

// corrupt is ErrCorrupt with what was found.
func corrupt(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrCorrupt, fmt.Sprintf(format, args...))
}
