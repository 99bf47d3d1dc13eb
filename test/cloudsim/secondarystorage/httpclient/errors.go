package httpclient

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
)

// Error is a failure in the words of the Java library.
type Error struct {
	// Text is the message of the exception.
	Text string
	// Unchecked is true for an exception that the caller does not expect: a bug on the Java side.
	Unchecked bool
	// NoAnswer is true when the server closed the connection without a byte.
	NoAnswer bool
	// Err is the cause, if Go had one.
	Err error
}

func (e *Error) Error() string { return e.Text }

func (e *Error) Unwrap() error { return e.Err }

func textf(format string, a ...any) error { return &Error{Text: fmt.Sprintf(format, a...)} }

// systemTexts are the words of the Java library for errors of the operating system.
var systemTexts = [...]struct {
	errno syscall.Errno
	text  string
}{
	{syscall.ECONNREFUSED, "Connection refused"}, {syscall.EHOSTUNREACH, "No route to host"},
	{syscall.ENETUNREACH, "Network is unreachable"}, {syscall.ETIMEDOUT, "Connection timed out"},
	{syscall.ECONNRESET, "Connection reset"}, {syscall.EPIPE, "Broken pipe"},
}

// translate puts an error of Go's network into the words of the Java library.
func translate(err error) error {
	var known *Error
	if err == nil || errors.Is(err, io.EOF) || errors.As(err, &known) {
		return err
	}
	if errors.Is(err, net.ErrClosed) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return &Error{Text: "Socket closed", Err: err}
	}
	for _, s := range systemTexts {
		if errors.Is(err, s.errno) {
			return &Error{Text: s.text, Err: err}
		}
	}
	return translateTLS(err)
}

func translateTLS(err error) error {
	var unknown x509.UnknownAuthorityError
	var invalid x509.CertificateInvalidError
	var record tls.RecordHeaderError
	var alert tls.AlertError
	switch {
	case errors.As(err, &unknown):
		return &Error{Text: "PKIX path building failed: sun.security.provider.certpath.SunCertPathBuilderException: " +
			"unable to find valid certification path to requested target", Err: err}
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return &Error{Text: "PKIX path validation failed: java.security.cert.CertPathValidatorException: validity check failed", Err: err}
	case errors.As(err, &record):
		return &Error{Text: "Unsupported or unrecognized SSL message", Err: err}
	case errors.As(err, &alert):
		return &Error{Text: "Received fatal alert: handshake_failure", Err: err}
	case errors.Is(err, io.ErrUnexpectedEOF):
		return &Error{Text: "Remote host terminated the handshake", Err: err}
	}
	return &Error{Text: err.Error(), Err: err}
}
