package fetch

import (
	"fmt"
	"net/http"
	"net/url"

	"github.com/capcat/capcat/imagecatalog/artifact"
)

// redirects is the policy for one request, and remembers what happened.
type redirects struct {
	source   source
	max      int
	followed bool
}

// check is an http.Client.CheckRedirect.
func (r *redirects) check(req *http.Request, via []*http.Request) error {
	last := via[len(via)-1].URL
	if len(via) > r.max {
		return artifact.NewError(artifact.SourceRedirects, fmt.Sprintf("more than %d redirects", r.max))
	}
	switch req.URL.Scheme {
	case "http", "https":
	default:
		return artifact.NewError(artifact.SourceRedirects, "redirect to something else than http or https")
	}
	if req.URL.Hostname() == "" {
		return artifact.NewError(artifact.SourceRedirects, "redirect to no host")
	}
	if last.Scheme == "https" && req.URL.Scheme == "http" {
		return artifact.NewError(artifact.SourceRedirects, "redirect from https to http, to "+hostOf(req.URL))
	}
	r.followed = true
	req.URL.User = nil        // a redirect does not hand us credentials
	req.Header.Del("Referer") // it would carry the query of a signed address elsewhere
	r.source.authorize(req)   // and ours stay with the host they are for
	req.Header.Del("Cookie")  // there are none; nobody sets any
	return nil
}

func hostOf(u *url.URL) string { return u.Scheme + "://" + u.Host }
