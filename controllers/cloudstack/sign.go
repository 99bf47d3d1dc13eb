package cloudstack

import (
	"crypto/hmac"
	"crypto/sha1"
	"encoding/base64"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"
)

// signatureLife is how long a signed call stays valid. A server that enforces timestamps refuses calls that are valid for
// more than 15 minutes, so this leaves five minutes to a clock that runs ahead and ten to one that runs behind.
const signatureLife = 10 * time.Minute

// sign signs a call in place, by the encoding rules of the server rather than of Go: a value may hold any character.
func sign(form url.Values, apiKey, secret string, now time.Time) {
	for name := range form {
		if strings.EqualFold(name, "signature") {
			form.Del(name)
		}
	}
	form.Set("apiKey", apiKey)
	form.Set("signatureversion", "3")
	form.Set("expires", now.UTC().Add(signatureLife).Format(time.RFC3339))

	var text strings.Builder
	for i, name := range slices.Sorted(maps.Keys(form)) {
		if i > 0 {
			text.WriteByte('&')
		}
		text.WriteString(name + "=" + encodeLikeServer(form.Get(name)))
	}
	mac := hmac.New(sha1.New, []byte(secret))
	mac.Write([]byte(strings.ToLower(text.String())))
	form.Set("signature", base64.StdEncoding.EncodeToString(mac.Sum(nil)))
}

// encodeLikeServer differs from url.QueryEscape in three characters: blank, asterisk and tilde.
func encodeLikeServer(value string) string {
	return serverEncoding.Replace(url.QueryEscape(value))
}

var serverEncoding = strings.NewReplacer("+", "%20", "%2A", "*", "~", "%7E")
