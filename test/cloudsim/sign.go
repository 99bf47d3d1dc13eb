package cloudsim

import (
	"crypto/hmac"
	"crypto/sha1"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf16"
)

// credentials are the parameters of a call that have to do with its signature, found whatever their case.
type credentials struct {
	apiKey, signature, version, expires string
	haveKey, haveSignature              bool
}

func readCredentials(params map[string]string) credentials {
	var c credentials
	for name, value := range params {
		switch strings.ToLower(name) {
		case "apikey":
			c.apiKey, c.haveKey = value, true
		case "signature":
			c.signature, c.haveSignature = value, true
		case "signatureversion":
			c.version = value
		case "expires":
			c.expires = value
		}
	}
	return c
}

// Sign computes the signature of a call as the server does: names sorted by UTF-16 code units, values encoded the way Java does with
// blanks as %20, the whole in lower case, HMAC-SHA1, base64. A parameter named signature, in any case, is left out.
func Sign(params map[string]string, secret string) string {
	names := make([]string, 0, len(params))
	for name := range params {
		if !strings.EqualFold(name, "signature") {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		return slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b)))
	})
	parts := make([]string, len(names))
	for i, name := range names {
		parts[i] = name + "=" + javaEncode(params[name])
	}
	mac := hmac.New(sha1.New, []byte(secret))
	mac.Write([]byte(strings.ToLower(strings.Join(parts, "&"))))
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// javaEncode escapes like java.net.URLEncoder, with blanks as %20: only letters, digits and .-*_ stay.
func javaEncode(s string) string {
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		if '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || strings.IndexByte(".-*_", c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// signed compares in constant time.
func signed(params map[string]string, secret, signature string) bool {
	return hmac.Equal([]byte(Sign(params, secret)), []byte(signature))
}

// parseExpires reads the forms of a time stamp that the server takes: with a zone, with or without a colon in it.
func parseExpires(s string) (time.Time, bool) {
	for _, layout := range []string{"2006-01-02T15:04:05-0700", time.RFC3339, "2006-01-02T15:04:05-07"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}
