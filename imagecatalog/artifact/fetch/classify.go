package fetch

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/capcat/capcat/imagecatalog/artifact"
)

// maxAfter caps the Retry-After that is passed on.
const maxAfter = 24 * time.Hour

// errStalled is the cause of a context that the idle timer ended.
var errStalled = errors.New("no byte within the idle timeout")

// networkError turns what net and net/http report into one of our codes, without the address in the text.
func networkError(ctx context.Context, err error, begun bool) error {
	var ours *artifact.Error
	if errors.As(err, &ours) {
		return ours
	}
	if cause := context.Cause(ctx); cause != nil {
		if errors.Is(cause, errStalled) {
			return artifact.NewError(artifact.SourceStalled, "the source sent nothing for too long")
		}
		return artifact.WrapError(artifact.Canceled, "the transfer was stopped", cause)
	}
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	var dns *net.DNSError
	switch {
	case errors.As(err, &dns) && dns.IsNotFound:
		return artifact.WrapError(artifact.SourceUnresolvable, "the host name does not resolve", err)
	case isTLS(err):
		return artifact.WrapError(artifact.SourceTLS, "the TLS connection is not to be trusted", err)
	case begun:
		return artifact.WrapError(artifact.SourceInterrupted, "the transfer ended early", scrubbed(err))
	case errors.Is(err, io.EOF):
		return artifact.NewError(artifact.SourceUnreachable, "the server closed without an answer")
	default:
		return artifact.WrapError(artifact.SourceUnreachable, "the source was not reached", scrubbed(err))
	}
}

func isTLS(err error) bool {
	var verification *tls.CertificateVerificationError
	var authority x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	var record tls.RecordHeaderError
	var alert tls.AlertError
	return errors.As(err, &verification) || errors.As(err, &authority) || errors.As(err, &host) ||
		errors.As(err, &invalid) || errors.As(err, &record) || errors.As(err, &alert)
}

// scrubbed drops texts that repeat an address, since it may be a signed one.
func scrubbed(err error) error {
	if strings.Contains(err.Error(), "/") && !isPlainNetwork(err) {
		return errors.New("the answer could not be read")
	}
	return err
}

func isPlainNetwork(err error) bool {
	var op *net.OpError
	return errors.As(err, &op)
}

// statusError classifies an answer other than success.
func statusError(resp *http.Response, now time.Time) error {
	code, text := resp.StatusCode, fmt.Sprintf("the server answered %d %s", resp.StatusCode, http.StatusText(resp.StatusCode))
	switch {
	case code == http.StatusUnauthorized, code == http.StatusForbidden, code == http.StatusProxyAuthRequired:
		return artifact.NewError(artifact.SourceForbidden, text)
	case code == http.StatusNotFound, code == http.StatusGone:
		return artifact.NewError(artifact.SourceMissing, text)
	case code == http.StatusTooManyRequests, code == http.StatusRequestTimeout, code == http.StatusTooEarly, code >= 500:
		err := artifact.NewError(artifact.SourceUnreachable, text)
		err.After = retryAfter(resp.Header.Get("Retry-After"), now)
		return err
	case code >= 300 && code < 400:
		return artifact.NewError(artifact.SourceRedirects, text+", and no address to follow")
	default:
		return artifact.NewError(artifact.SourceRefused, text)
	}
}

// retryAfter reads both forms of the header: seconds or a date; 0 when there is none or it is past.
func retryAfter(value string, now time.Time) time.Duration {
	value = strings.TrimSpace(value)
	if n, err := strconv.ParseUint(value, 10, 31); err == nil {
		return min(time.Duration(n)*time.Second, maxAfter)
	}
	t, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	return min(max(t.Sub(now), 0), maxAfter)
}

// localError classifies what went wrong on this machine while writing.
func localError(doing string, err error) error {
	var ours *artifact.Error
	switch {
	case errors.As(err, &ours):
		return ours
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return artifact.WrapError(artifact.NoSpace, doing, err)
	default:
		return artifact.WrapError(artifact.StoreFailed, doing, err)
	}
}

// fileError classifies a file source that cannot be read.
func fileError(err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return artifact.NewError(artifact.SourceMissing, "there is no such file")
	case errors.Is(err, fs.ErrPermission):
		return artifact.NewError(artifact.SourceForbidden, "the file may not be read")
	default:
		return localError("reading the file", err)
	}
}
