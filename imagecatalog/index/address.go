package index

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/capcat/capcat/imagecatalog"
)

// checkAddress takes an http or https URL, and a path that stays below the folder of the index.
func checkAddress(address string) error {
	if strings.Contains(address, "://") {
		return imagecatalog.CheckURL(address)
	}
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Path == "" || len(address) > maxURL:
		return fmt.Errorf("%.80q is no address", address)
	case u.IsAbs() || u.Host != "" || u.RawQuery != "" || u.Fragment != "" || strings.HasPrefix(u.Path, "/"):
		return fmt.Errorf("%.80q is not relative to the index", address)
	case path.Clean(u.Path) != u.Path || slices.Contains(strings.Split(u.Path, "/"), "..") || strings.ContainsAny(u.Path, "\\\x00"):
		return fmt.Errorf("%.80q leaves the folder of the index", address)
	}
	return nil
}

// Resolve gives the whole address of one that may be relative to an index in the folder base.
func Resolve(base, address string) (string, error) {
	if strings.Contains(address, "://") {
		return address, nil
	}
	b, err := url.Parse(strings.TrimSuffix(base, "/") + "/")
	if err != nil {
		return "", errors.New("the base URL cannot be read")
	}
	if b.User != nil || b.RawQuery != "" || b.Fragment != "" || b.Opaque != "" {
		return "", errors.New("the base URL is scheme, host and path, without user, query or fragment")
	}
	u, err := b.Parse(address)
	if err != nil {
		return "", fmt.Errorf("reading %.80q: %w", address, err)
	}
	return u.String(), nil
}

// Reference is a file name as an address: escaped where it has to be.
func Reference(name string) string { return (&url.URL{Path: "./" + name}).EscapedPath()[2:] }
