package publish

import (
	"errors"
	"fmt"
	"net/http"
)

// ErrRedirect says that a server leads to where nobody should follow.
var ErrRedirect = errors.New("the redirect is not followed")

// signed are the headers that Keys.sign sets.
var signed = [...]string{"Authorization", "X-Amz-Content-Sha256", "X-Amz-Date", "X-Amz-Security-Token"}

// redirect is an http.Client.CheckRedirect. Without leave a redirect is an answer like others.
func (b *Bucket) redirect(req *http.Request, via []*http.Request) error {
	first, last := via[0], via[len(via)-1].URL
	if b.Redirects == 0 || first.Method != http.MethodGet && first.Method != http.MethodHead {
		return http.ErrUseLastResponse
	}
	switch {
	case len(via) > b.Redirects:
		return fmt.Errorf("%w: there are more than %d", ErrRedirect, b.Redirects)
	case req.URL.Scheme != "https" && req.URL.Scheme != "http" || req.URL.Host == "":
		return fmt.Errorf("%w: it leads to no http or https address", ErrRedirect)
	case last.Scheme == "https" && req.URL.Scheme == "http":
		return fmt.Errorf("%w: it leads from https to http, to %s", ErrRedirect, req.URL.Hostname())
	}
	req.URL.User = nil        // a server does not hand us credentials
	req.Header.Del("Referer") // it may be a signed address
	for name := range b.Header {
		req.Header.Del(name)
	}
	for _, name := range signed {
		req.Header.Del(name)
	}
	if req.URL.Host == b.base.Host && req.URL.Scheme == b.base.Scheme {
		b.authorize(req, emptySHA256)
	}
	return nil
}
