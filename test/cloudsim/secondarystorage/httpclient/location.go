package httpclient

import (
	"fmt"
	"net"
	"strconv"
	"strings"
)

// Location is an absolute URL with path and query exactly as written.
type Location struct {
	// Scheme is in lower case.
	Scheme string
	// Host is without brackets, Port 0 when the URL names none.
	Host string
	Port int
	// Path is at least "/", Query is without its question mark.
	Path, Query string
	HasQuery    bool
}

// Parse reads an absolute URL. It fails on characters that must be escaped, on a broken escape and on a port that is no number.
func Parse(s string) (Location, error) {
	if !wellFormed(s) {
		return Location{}, fmt.Errorf("malformed URL")
	}
	scheme, rest, ok := strings.Cut(s, ":")
	if !ok || scheme == "" || strings.ContainsAny(scheme, "/?#") {
		return Location{}, fmt.Errorf("URL without a scheme")
	}
	l := Location{Scheme: strings.ToLower(scheme)}
	rest, _, _ = strings.Cut(rest, "#")
	rest, l.Query, l.HasQuery = strings.Cut(rest, "?")
	authority := ""
	l.Path = rest
	if after, ok := strings.CutPrefix(rest, "//"); ok {
		i := strings.IndexByte(after, '/')
		if i < 0 {
			i = len(after)
		}
		authority, l.Path = after[:i], after[i:]
	}
	if l.Path == "" {
		l.Path = "/"
	}
	return l, l.setAuthority(authority)
}

func (l *Location) setAuthority(s string) error {
	if i := strings.LastIndexByte(s, '@'); i >= 0 {
		s = s[i+1:]
	}
	port := ""
	if i := strings.LastIndexByte(s, ':'); i > strings.LastIndexByte(s, ']') {
		s, port = s[:i], s[i+1:]
	}
	l.Host = strings.Trim(s, "[]")
	if port == "" {
		return nil
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return fmt.Errorf("malformed port")
	}
	l.Port = int(n)
	return nil
}

// wellFormed tells whether s holds only characters that a URI may hold, and only whole escapes.
func wellFormed(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case c <= ' ', c == 0x7f, strings.IndexByte("\"<>\\^`{|}", c) >= 0:
			return false
		case c == '%':
			if i+2 >= len(s) {
				return false
			}
			if _, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err != nil {
				return false
			}
		}
	}
	return true
}

// port is the one to dial.
func (l Location) port() int {
	switch {
	case l.Port != 0:
		return l.Port
	case l.Scheme == "https":
		return 443
	}
	return 80
}

// Key names the server: two locations of equal keys share connections.
func (l Location) Key() string {
	return l.Scheme + "://" + net.JoinHostPort(l.Host, strconv.Itoa(l.port()))
}

// target is what stands in the request line.
func (l Location) target() string {
	if l.HasQuery {
		return l.Path + "?" + l.Query
	}
	return l.Path
}

// hostHeader names the port only when it is not the usual one.
func (l Location) hostHeader() string {
	host := l.Host
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if l.port() == (Location{Scheme: l.Scheme}).port() {
		return host
	}
	return host + ":" + strconv.Itoa(l.port())
}

// withoutQuery is the spelling that circular redirects are found by.
func (l Location) withoutQuery() string {
	host := l.Host
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if l.Port != 0 {
		host += ":" + strconv.Itoa(l.Port)
	}
	return l.Scheme + "://" + host + l.Path
}

// resolve reads the Location header of an answer from l.
func (l Location) resolve(header string) (Location, error) {
	if !wellFormed(header) {
		return Location{}, textf("Invalid redirect location: %s", header)
	}
	if scheme, _, ok := strings.Cut(header, ":"); ok && scheme != "" && !strings.ContainsAny(scheme, "/?#") {
		next, err := Parse(header)
		if err != nil {
			return Location{}, textf("Invalid redirect location: %s", header)
		}
		return next, nil
	}
	next := l
	next.Port = l.port()
	header, _, _ = strings.Cut(header, "#")
	path, query, hasQuery := strings.Cut(header, "?")
	next.Query, next.HasQuery = query, hasQuery
	switch {
	case strings.HasPrefix(path, "/"):
		next.Path = path
	case path != "":
		next.Path = l.Path[:strings.LastIndexByte(l.Path, '/')+1] + path
	}
	return next, nil
}
