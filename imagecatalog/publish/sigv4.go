package publish

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// emptySHA256 is the digest of no bytes.
const emptySHA256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

// Keys are credentials of S3.
type Keys struct {
	// ID and Secret are the two halves of an access key, Session the token of a temporary one.
	ID, Secret, Session string
	// Region is that of the bucket; many servers take any.
	Region string
}

// String hides the keys.
func (k *Keys) String() string { return "Keys" }

// GoString hides the keys.
func (k *Keys) GoString() string { return "Keys" }

// sign adds what signature version 4 asks for: the digest of the body, the time, and a signature over these, the method, the
// address and all headers that are sent. Expect and what proxies change are left out.
func (k *Keys) sign(req *http.Request, bodySHA256 string, now time.Time) {
	stamp := now.UTC().Format("20060102T150405Z")
	req.Header.Set("X-Amz-Content-Sha256", bodySHA256)
	req.Header.Set("X-Amz-Date", stamp)
	if k.Session != "" {
		req.Header.Set("X-Amz-Security-Token", k.Session)
	}
	names, lines := signedHeaders(req)
	canonical := strings.Join([]string{
		req.Method, escapePath(req.URL.Path), canonicalQuery(req.URL.Query()), lines, names, bodySHA256,
	}, "\n")
	scope := strings.Join([]string{stamp[:8], k.Region, "s3", "aws4_request"}, "/")
	sum := sha256.Sum256([]byte(canonical))
	text := strings.Join([]string{"AWS4-HMAC-SHA256", stamp, scope, hex.EncodeToString(sum[:])}, "\n")
	key := []byte("AWS4" + k.Secret)
	for part := range strings.SplitSeq(scope, "/") {
		key = mac(key, part)
	}
	req.Header.Set("Authorization", fmt.Sprintf("AWS4-HMAC-SHA256 Credential=%s/%s,SignedHeaders=%s,Signature=%x", k.ID, scope, names, mac(key, text)))
}

func mac(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}

// signedHeaders lists names and values in the form to be signed.
func signedHeaders(req *http.Request) (names, lines string) {
	values := map[string]string{"host": req.URL.Host}
	for name, v := range req.Header {
		switch name = strings.ToLower(name); name {
		case "authorization", "expect", "user-agent", "accept-encoding", "content-length", "connection":
		default:
			values[name] = strings.Join(strings.Fields(strings.Join(v, ",")), " ")
		}
	}
	var sorted []string
	for name := range values {
		sorted = append(sorted, name)
	}
	slices.Sort(sorted)
	var b strings.Builder
	for _, name := range sorted {
		fmt.Fprintf(&b, "%s:%s\n", name, values[name])
	}
	return strings.Join(sorted, ";"), b.String()
}

// escapePath escapes all but letters, digits, the four marks and the slash, as the signature wants it.
func escapePath(path string) string {
	if path == "" {
		return "/"
	}
	var b strings.Builder
	for _, c := range []byte(path) {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-._~/", c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// canonicalQuery is the query sorted and escaped.
func canonicalQuery(q url.Values) string {
	return strings.ReplaceAll(q.Encode(), "+", "%20")
}
