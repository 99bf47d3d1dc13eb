package publish

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"time"
)

var errIdle = errors.New("the transfer stood still for too long")

// maxRetryAfter bounds the wait that a server may ask for.
const maxRetryAfter = 5 * time.Minute

// refusal is a status that is none to go on with. What the server wrote in the body is left out, but for a code of S3 that is known: it
// may repeat what was sent.
func refusal(resp *http.Response) error {
	hint := codeHint(resp.Body)
	switch {
	case hint != "":
	case resp.StatusCode/100 == 3:
		hint = ": redirects are not followed, because credentials are for one host; give the address that it leads to"
	case resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden:
		hint = ": the credentials are missing, wrong, or do not allow it (S3 also wants the right to list, to tell which files are missing)"
	case resp.StatusCode == http.StatusNotFound:
		hint = ": there is no such bucket or folder"
	case resp.StatusCode == http.StatusMethodNotAllowed:
		hint = ": the server takes no PUT here"
	case resp.StatusCode == http.StatusRequestEntityTooLarge:
		hint = ": the file is larger than the server takes"
	}
	return fmt.Errorf("the server answered %d %s%s", resp.StatusCode, http.StatusText(resp.StatusCode), hint)
}

// codeHints say what codes of S3 mean that tell more than the status.
var codeHints = map[string]string{
	"AuthorizationHeaderMalformed": ": the bucket is in another region than --s3-region",
	"EntityTooLarge":               ": the file is larger than the server takes",
	"ExpiredToken":                 ": the session of the credentials has expired",
	"InvalidAccessKeyId":           ": there is no such access key",
	"RequestTimeTooSkewed":         ": the clock of this computer or that of the server is wrong",
	"SignatureDoesNotMatch":        ": $AWS_SECRET_ACCESS_KEY is not that of the access key",
}

var errorCode = regexp.MustCompile(`<Code>([A-Za-z]+)</Code>`)

// codeHint looks for a known code in the begin of a body.
func codeHint(body io.Reader) string {
	const most = 4 << 10
	head, err := io.ReadAll(io.LimitReader(body, most))
	found := errorCode.FindSubmatch(head)
	if err != nil || found == nil {
		return ""
	}
	return codeHints[string(found[1])]
}

// retryAfter is how long to wait before trying again, negative for a status that stays.
func retryAfter(resp *http.Response) time.Duration {
	switch resp.StatusCode {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooEarly, http.StatusTooManyRequests:
	case http.StatusNotImplemented, http.StatusHTTPVersionNotSupported, http.StatusInsufficientStorage:
		return -1
	default:
		if resp.StatusCode < 500 {
			return -1
		}
	}
	seconds, err := strconv.Atoi(resp.Header.Get("Retry-After"))
	if err != nil {
		return 0
	}
	return min(max(time.Duration(seconds)*time.Second, 0), maxRetryAfter)
}

// retryable says by a wait whether a connection that failed is worth another try.
func retryable(ctx context.Context, err error) time.Duration {
	var untrusted *tls.CertificateVerificationError
	if ctx.Err() != nil && !errors.Is(context.Cause(ctx), errIdle) || errors.As(err, &untrusted) || errors.Is(err, ErrRedirect) {
		return -1
	}
	return 0
}

// plain takes the address out of an error of the client, and says why a context ended.
func plain(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}
