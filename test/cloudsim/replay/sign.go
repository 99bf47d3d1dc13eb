package replay

import (
	"crypto/hmac"
	"crypto/sha1"
	"encoding/base64"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/capcat/capcat/test/cloudsim"
)

// expiresAhead is how far ahead a version 3 signature expires, by the way of signing.
func expiresAhead(sign string) (time.Duration, bool) {
	if minutes, ok := strings.CutPrefix(sign, "v3+"); ok {
		n, err := strconv.Atoi(minutes)
		return time.Duration(n) * time.Minute, err == nil
	}
	d, ok := map[string]time.Duration{"v3": 10 * time.Minute, "v3z": 10 * time.Minute, "v3past": -10 * time.Minute, "past": -10 * time.Minute}[sign]
	return d, ok
}

// signParams adds what a caller adds to a call: key, expiry, signature, each rightly or wrongly as the transcript says.
func signParams(params map[string]string, sign string, keys cloudsim.KeyPair, now time.Time) {
	if sign == "none" {
		return
	}
	if sign != "nokey" {
		params["apiKey"] = keys.APIKey
	}
	if strings.HasPrefix(sign, "v3") {
		params["signatureversion"] = "3"
	}
	if d, ok := expiresAhead(sign); ok {
		layout := "2006-01-02T15:04:05+0000"
		if sign == "v3z" {
			layout = "2006-01-02T15:04:05Z"
		}
		params["expires"] = now.Add(d).UTC().Format(layout)
	}
	switch sign {
	case "v3junk":
		params["expires"] = "tomorrow"
	case "unknownkey":
		params["apiKey"] = strings.Repeat("k", 86)
	}
	switch sign {
	case "nosig":
	case "bad":
		params["signature"] = cloudsim.Sign(params, keys.SecretKey+"x")
	case "tilde":
		params["signature"] = signOddly(params, keys.SecretKey, "%7E", "~")
	case "plus":
		params["signature"] = signOddly(params, keys.SecretKey, "%20", "+")
	case "star":
		params["signature"] = signOddly(params, keys.SecretKey, "*", "%2A")
	default:
		params["signature"] = cloudsim.Sign(params, keys.SecretKey)
	}
}

// signOddly signs with one character encoded otherwise than the server does. It is written apart from the server's own code.
func signOddly(params map[string]string, secret, from, to string) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(params)) {
		v := strings.NewReplacer("+", "%20", "%2A", "*", "~", "%7E").Replace(url.QueryEscape(params[name]))
		parts = append(parts, name+"="+strings.ReplaceAll(v, from, to))
	}
	mac := hmac.New(sha1.New, []byte(secret))
	mac.Write([]byte(strings.ToLower(strings.Join(parts, "&"))))
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}
