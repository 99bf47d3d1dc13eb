package artifact

import (
	"errors"
	"time"
)

// Retry says when trying the same thing again can help.
type Retry int

const (
	// RetryBackoff is for faults that pass: network, HTTP 5xx and 429, a full disk. It is the zero value, because an
	// unknown fault is retried: terminal needs proof.
	RetryBackoff Retry = iota
	// RetrySlow is for answers that only a person at the other end changes: HTTP 401, 403, 404, 410.
	RetrySlow
	// RetryNever is for content that is wrong and stays wrong until the spec or the source changes.
	RetryNever
)

// String is the class in lower case.
func (r Retry) String() string {
	switch r {
	case RetrySlow:
		return "slow"
	case RetryNever:
		return "never"
	default:
		return "backoff"
	}
}

// Error is a failure with a code that programs decide on and a message that people read.
// Find it in a chain with errors.As, or ask CodeOf and RetryOf.
type Error struct {
	// Code is the reason; never empty.
	Code Code
	// Message is one sentence without secrets, queries or user info.
	Message string
	// Retry is the retry class.
	Retry Retry
	// After is the wait that the other side asked for (Retry-After); 0 when it asked for none.
	After time.Duration
	// Err is the cause; may be nil.
	Err error
}

// NewError gives an error with the retry class that belongs to the code.
func NewError(code Code, message string) *Error {
	return &Error{Code: code, Message: message, Retry: code.Retry()}
}

// WrapError is NewError with a cause.
func WrapError(code Code, message string, cause error) *Error {
	return &Error{Code: code, Message: message, Retry: code.Retry(), Err: cause}
}

// Error is "Code: message: cause", leaving out what is empty.
func (e *Error) Error() string {
	text := string(e.Code)
	if e.Message != "" {
		text += ": " + e.Message
	}
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// CodeOf is the code of the first *Error in the chain, "" when there is none.
func CodeOf(err error) Code {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// RetryOf is the retry class of the first *Error in the chain; RetryBackoff when there is none.
func RetryOf(err error) Retry {
	var e *Error
	if errors.As(err, &e) {
		return e.Retry
	}
	return RetryBackoff
}
