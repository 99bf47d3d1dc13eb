package serve

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/capcat/capcat/imagecatalog/artifact"
)

const (
	// MinKeyBytes is the least length of a key.
	MinKeyBytes = 16

	expiryBytes = 8
	macBytes    = 24
	tokenBytes  = expiryBytes + macBytes
)

var (
	errForged  = errors.New("the token does not fit")
	errExpired = errors.New("the token has expired")

	namePattern = regexp.MustCompile(`^([0-9a-f]{64})\.([a-z0-9]{1,8})$`)
)

// Signer makes names that work for one blob until they expire.
type Signer struct{ key []byte }

// NewSigner takes a key of at least MinKeyBytes, so that names outlive the process; an empty key means a random one.
func NewSigner(key []byte) (*Signer, error) {
	if len(key) == 0 {
		key = make([]byte, sha256.Size)
		if _, err := rand.Read(key); err != nil {
			return nil, fmt.Errorf("making a key: %w", err)
		}
	}
	if len(key) < MinKeyBytes {
		return nil, fmt.Errorf("the key has %d bytes, fewer than %d", len(key), MinKeyBytes)
	}
	return &Signer{key: append([]byte(nil), key...)}, nil
}

// Path is "<token>/<digest>.<suffix>", without a slash in front. The digest is a SHA-256, the suffix what
// artifact.Format.Suffix gives; whole seconds of expires count.
func (s *Signer) Path(d artifact.Digest, suffix string, expires time.Time) (string, error) {
	name := d.Hex + "." + suffix
	if d.Algorithm != artifact.SHA256 || !namePattern.MatchString(name) {
		return "", fmt.Errorf("%q with suffix %q is no name to serve", d, suffix)
	}
	token := binary.BigEndian.AppendUint64(nil, uint64(max(expires.Unix(), 0)))
	token = append(token, s.mac(token, name)...)
	return base64.RawURLEncoding.EncodeToString(token) + "/" + name, nil
}

// URL puts Path under a base like "http://images.example.org:8080/base".
func (s *Signer) URL(base string, d artifact.Digest, suffix string, expires time.Time) (string, error) {
	u, err := url.Parse(base)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return "", errors.New("the base address of the image server is not of the form http(s)://host[:port][/path]")
	}
	path, err := s.Path(d, suffix, expires)
	if err != nil {
		return "", err
	}
	return u.Scheme + "://" + u.Host + strings.TrimSuffix(u.EscapedPath(), "/") + "/" + path, nil
}

// verify reads a token and a name.
func (s *Signer) verify(token, name string, now time.Time) (artifact.Digest, error) {
	parts := namePattern.FindStringSubmatch(name)
	raw, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if parts == nil || err != nil || len(raw) != tokenBytes || !hmac.Equal(raw[expiryBytes:], s.mac(raw[:expiryBytes], name)) {
		return artifact.Digest{}, errForged
	}
	if expires := binary.BigEndian.Uint64(raw); uint64(max(now.Unix(), 0)) >= expires {
		return artifact.Digest{}, errExpired
	}
	return artifact.NewDigest(artifact.SHA256, parts[1])
}

func (s *Signer) mac(expiry []byte, name string) []byte {
	h := hmac.New(sha256.New, s.key)
	h.Write([]byte("capcat image\x00"))
	h.Write(expiry)
	h.Write([]byte(name))
	return h.Sum(nil)[:macBytes]
}
