package unpack

import (
	"errors"
	"fmt"
	"io"
)

// ErrTooLarge is what a writer of this package's functions returns when the system would send SIGXFSZ: the tools die silently,
// except xz.
var ErrTooLarge = errors.New("file too large")

// Error is a tool that ended with a failure. Text is what it wrote to standard error, without the name of the tool and of the
// file; empty when it died or left without a word.
type Error struct{ Text string }

func (e *Error) Error() string {
	if e.Text == "" {
		return "the tool failed without a word"
	}
	return e.Text
}

// failed turns what a reader or a writer returned into the failure of a tool that says text for a damaged stream.
func failed(err error, text string) error {
	switch {
	case errors.Is(err, ErrTooLarge):
		return fmt.Errorf("%w: %w", &Error{}, ErrTooLarge)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return &Error{Text: "unexpected end of file"}
	}
	return &Error{Text: text}
}
