package secondarystorage

import (
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha3"
	"crypto/sha512"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"strings"
)

// algorithms are the names that Java knows, in upper case.
var algorithms = map[string]func() hash.Hash{
	"MD2": newMD2, "MD5": md5.New, "SHA": sha1.New, "SHA1": sha1.New, "SHA-1": sha1.New,
	"SHA224": sha256.New224, "SHA-224": sha256.New224, "SHA256": sha256.New, "SHA-256": sha256.New,
	"SHA384": sha512.New384, "SHA-384": sha512.New384, "SHA512": sha512.New, "SHA-512": sha512.New,
	"SHA512/224": sha512.New512_224, "SHA-512/224": sha512.New512_224, "SHA512/256": sha512.New512_256, "SHA-512/256": sha512.New512_256,
	"SHA3-224": func() hash.Hash { return sha3.New224() }, "SHA3-256": func() hash.Hash { return sha3.New256() },
	"SHA3-384": func() hash.Hash { return sha3.New384() }, "SHA3-512": func() hash.Hash { return sha3.New512() },
}

// checksum is one as given: the algorithm as it was spelt.
type checksum struct{ algorithm, value string }

func (c checksum) String() string { return "{" + c.algorithm + "}" + c.value }

// parseChecksum reads "{ALG}hex". Without the braces, or with nothing between them, it is MD5. It fails on an algorithm that
// Java does not know.
func parseChecksum(s string) (checksum, error) {
	c := checksum{algorithm: "MD5", value: s}
	if algorithm, value, ok := strings.Cut(strings.TrimPrefix(s, "{"), "}"); ok && strings.HasPrefix(s, "{") {
		c.value = value
		if algorithm != "" {
			c.algorithm = algorithm
		}
	}
	if algorithms[strings.ToUpper(c.algorithm)] == nil {
		return c, fmt.Errorf("unknown algorithm %q", c.algorithm)
	}
	return c, nil
}

// checkSum compares the content of r with a checksum as given, and returns the one to be stored: SHA-512 when none was given.
func checkSum(given string, r io.Reader) (string, error) {
	want := checksum{algorithm: "SHA-512"}
	if given != "" {
		var err error
		if want, err = parseChecksum(given); err != nil {
			return "", err
		}
	}
	h := algorithms[strings.ToUpper(want.algorithm)]()
	if _, err := io.Copy(h, r); err != nil {
		return "", fmt.Errorf("reading from the store: %w", err)
	}
	got := checksum{want.algorithm, hex.EncodeToString(h.Sum(nil))}
	if given != "" && got.value != want.value {
		return "", fmt.Errorf("checksum \"%s\" didn't match the given value, \"%s\"", got, want)
	}
	return got.String(), nil
}
