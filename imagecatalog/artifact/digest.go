package artifact

import (
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"fmt"
	"hash"
	"strings"
)

// Algorithm names a hash function: lower case, no hyphen.
type Algorithm string

const (
	// MD5 is weak: only with an explicit opt-in.
	MD5 Algorithm = "md5"
	// SHA1 is weak: only with an explicit opt-in.
	SHA1 Algorithm = "sha1"
	// SHA224 is the short form of SHA-256.
	SHA224 Algorithm = "sha224"
	// SHA256 is the norm, and the key of the store.
	SHA256 Algorithm = "sha256"
	// SHA384 is the short form of SHA-512.
	SHA384 Algorithm = "sha384"
	// SHA512 is as good as SHA-256.
	SHA512 Algorithm = "sha512"
)

// Algorithms lists every known algorithm, weakest first.
func Algorithms() []Algorithm { return []Algorithm{MD5, SHA1, SHA224, SHA256, SHA384, SHA512} }

// ParseAlgorithm reads the usual spellings: sha256, SHA256, SHA-256, SHA2-256.
func ParseAlgorithm(s string) (Algorithm, error) {
	name := strings.ToLower(strings.TrimSpace(s))
	for _, prefix := range []string{"sha2-", "sha-"} {
		if bits, found := strings.CutPrefix(name, prefix); found {
			name = "sha" + bits
			break
		}
	}
	if a := Algorithm(name); a.HexLen() > 0 {
		return a, nil
	}
	return "", fmt.Errorf("%q is no known digest algorithm", s)
}

// New gives a fresh hash, nil for an unknown algorithm.
func (a Algorithm) New() hash.Hash {
	switch a {
	case MD5:
		return md5.New()
	case SHA1:
		return sha1.New()
	case SHA224:
		return sha256.New224()
	case SHA256:
		return sha256.New()
	case SHA384:
		return sha512.New384()
	case SHA512:
		return sha512.New()
	default:
		return nil
	}
}

// HexLen is the number of hexadecimal digits of a digest, 0 for an unknown algorithm.
func (a Algorithm) HexLen() int {
	h := a.New()
	if h == nil {
		return 0
	}
	return 2 * h.Size()
}

// Weak says whether collisions are known, so that the digest proves nothing against an attacker.
func (a Algorithm) Weak() bool { return a == MD5 || a == SHA1 }

// AlgorithmOfLen is the algorithm whose digests have so many hexadecimal digits; false when there is none.
func AlgorithmOfLen(digits int) (Algorithm, bool) {
	for _, a := range Algorithms() {
		if a.HexLen() == digits {
			return a, true
		}
	}
	return "", false
}

// Digest is a digest of bytes. The zero value is "no digest".
type Digest struct {
	// Algorithm made it.
	Algorithm Algorithm
	// Hex is lower case and as long as the algorithm makes it.
	Hex string
}

// NewDigest checks length and digits and lowers the case.
func NewDigest(a Algorithm, hexDigits string) (Digest, error) {
	d := Digest{Algorithm: a, Hex: strings.ToLower(strings.TrimSpace(hexDigits))}
	want := a.HexLen()
	if want == 0 {
		return Digest{}, NewError(BadChecksumForm, fmt.Sprintf("%q is no known digest algorithm", string(a)))
	}
	if len(d.Hex) != want {
		return Digest{}, NewError(BadChecksumForm, fmt.Sprintf("a %s digest has %d digits, not %d", a, want, len(d.Hex)))
	}
	if strings.Trim(d.Hex, "0123456789abcdef") != "" {
		return Digest{}, NewError(BadChecksumForm, fmt.Sprintf("the %s digest holds something else than hexadecimal digits", a))
	}
	return d, nil
}

// ParseDigest reads "sha256:<hex>"; the algorithm may be spelt in the usual ways.
func ParseDigest(s string) (Digest, error) {
	name, digits, found := strings.Cut(strings.TrimSpace(s), ":")
	if !found {
		return Digest{}, NewError(BadChecksumForm, "a digest is written algorithm:hex, as in sha256:9f86...")
	}
	a, err := ParseAlgorithm(name)
	if err != nil {
		return Digest{}, WrapError(BadChecksumForm, "reading the algorithm", err)
	}
	return NewDigest(a, digits)
}

// DigestOf reads the sum of a hash that the algorithm made.
func DigestOf(a Algorithm, h hash.Hash) Digest {
	return Digest{Algorithm: a, Hex: fmt.Sprintf("%x", h.Sum(nil))}
}

// IsZero says whether there is no digest.
func (d Digest) IsZero() bool { return d == Digest{} }

// String is "sha256:<hex>", "" for the zero value.
func (d Digest) String() string {
	if d.IsZero() {
		return ""
	}
	return string(d.Algorithm) + ":" + d.Hex
}

// Braced is the form that CloudStack takes: "{SHA-256}<hex>", "" for the zero value.
func (d Digest) Braced() string {
	if d.IsZero() {
		return ""
	}
	name := strings.ToUpper(string(d.Algorithm))
	if rest, isSHA := strings.CutPrefix(name, "SHA"); isSHA {
		name = "SHA-" + rest
	}
	return "{" + name + "}" + d.Hex
}
