package cloudstack

import (
	"net/url"
	"path"
	"regexp"
	"sync"
)

// urlPattern finds URLs inside a text.
var urlPattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\bhttps?://[^\s"'<>\[\]{}]+`)
})

// randomPattern finds what differs between two calls of the same meaning: descriptions of accounts, whose uuid is made
// up anew each time, and uuids in brackets.
var randomPattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\[\{.*?\}\]|\[?[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\]?|\[\d+\]`)
})

// redactURL keeps the scheme, the host and the last part of the path: user, query and the tokens of signed paths go.
func redactURL(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" {
		return "[url]"
	}
	clean := url.URL{Scheme: u.Scheme, Host: u.Host}
	switch dir, name := path.Split(u.Path); {
	case name == "":
		clean.Path = "/"
	case dir == "/" || dir == "":
		clean.Path = "/" + name
	default:
		clean.Path = "/.../" + name
	}
	return clean.String()
}
