package fetch

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"

	"github.com/capcat/capcat/imagecatalog/artifact"
)

const maxURLBytes = 2048

// source is one address, taken apart so that nothing secret is in what we print.
type source struct {
	// url has no user info and no fragment; its query is byte for byte what was given.
	url *url.URL
	// user is sent as basic auth to the host of url and to no other.
	user *url.Userinfo
}

// parseSource reads an address: http, https and, where allowed, file; no shorthand, no go-getter prefix.
func parseSource(raw string, allowFile bool) (source, error) {
	if raw == "" || len(raw) > maxURLBytes {
		return source{}, artifact.NewError(artifact.InvalidURL, fmt.Sprintf("an address has 1 to %d bytes, this one %d", maxURLBytes, len(raw)))
	}
	u, err := url.Parse(raw)
	if err != nil {
		return source{}, artifact.NewError(artifact.InvalidURL, "the address is malformed") // the error text repeats the address
	}
	s := source{url: u, user: u.User}
	u.User, u.Fragment, u.RawFragment = nil, "", ""
	switch strings.ToLower(u.Scheme) {
	case "http", "https":
		if u.Opaque != "" || u.Hostname() == "" {
			return source{}, artifact.NewError(artifact.InvalidURL, "the address names no host")
		}
		if _, err := strconv.ParseUint(cmp.Or(u.Port(), "80"), 10, 16); err != nil {
			return source{}, artifact.NewError(artifact.InvalidURL, "the address has a port above 65535")
		}
	case "file":
		if !allowFile {
			return source{}, artifact.NewError(artifact.InvalidURL, "file addresses are not offered here")
		}
		if u.Opaque != "" || (u.Host != "" && u.Host != "localhost") || !path.IsAbs(u.Path) || u.RawQuery != "" {
			return source{}, artifact.NewError(artifact.InvalidURL, "a file address is file:///absolute/path")
		}
	default:
		return source{}, artifact.NewError(artifact.InvalidURL, "an address begins with http:// or https://")
	}
	return s, nil
}

// String leaves out user info, query and fragment.
func (s source) String() string {
	u := url.URL{Scheme: s.url.Scheme, Host: s.url.Host, Path: s.url.Path, RawPath: s.url.RawPath}
	return u.String()
}

// Redact gives an address without user info, query and fragment; "" for one that cannot be read.
func Redact(raw string) string {
	s, err := parseSource(raw, true)
	if err != nil {
		return ""
	}
	return s.String()
}

// BaseName is the last element of the path of an address, unescaped; "" when there is none.
func BaseName(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || strings.HasSuffix(u.Path, "/") || u.Path == "" {
		return ""
	}
	return path.Base(u.Path)
}

// authorize adds the credentials of the source when the request goes to its own host and port, or to https on that host.
func (s source) authorize(req *http.Request) {
	req.Header.Del("Authorization")
	if s.user == nil || !sameHost(s.url, req.URL) {
		return
	}
	password, _ := s.user.Password()
	req.SetBasicAuth(s.user.Username(), password)
}

func sameHost(a, b *url.URL) bool {
	if !strings.EqualFold(a.Hostname(), b.Hostname()) {
		return false
	}
	upgraded := a.Scheme == "http" && port(a) == "80" && b.Scheme == "https" && port(b) == "443"
	return upgraded || a.Scheme == b.Scheme && port(a) == port(b)
}

func port(u *url.URL) string {
	if p := u.Port(); p != "" {
		return p
	}
	if u.Scheme == "https" {
		return "443"
	}
	return "80"
}
