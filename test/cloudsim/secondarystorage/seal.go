package secondarystorage

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"time"
)

// Sign returns the signature over the parts of an upload's parameters: HMAC-SHA1, base64.
func (e *Engine) Sign(metadata, postURL, expires string) string {
	m := hmac.New(sha1.New, e.secret)
	m.Write([]byte(metadata + postURL + expires))
	return base64.StdEncoding.EncodeToString(m.Sum(nil))
}

// newSealer makes what encrypts metadata with a secret.
func newSealer(secret []byte) (cipher.AEAD, error) {
	key := sha256.Sum256(secret)
	block, err := aes.NewCipher(key[:])
	if err != nil {
		return nil, fmt.Errorf("making the cipher of metadata: %w", err)
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return nil, fmt.Errorf("making the cipher of metadata: %w", err)
	}
	return aead, nil
}

// seal encrypts metadata. Equal metadata come out equal.
func (e *Engine) seal(r UploadRequest) string {
	b, err := json.Marshal(r)
	if err != nil {
		return ""
	}
	m := hmac.New(sha256.New, e.secret)
	m.Write(b)
	nonce := m.Sum(nil)[:e.sealer.NonceSize()]
	return base64.StdEncoding.EncodeToString(e.sealer.Seal(nonce, nonce, b, nil))
}

func (e *Engine) open(metadata string) (UploadRequest, error) {
	var r UploadRequest
	b, err := base64.StdEncoding.DecodeString(metadata)
	n := e.sealer.NonceSize()
	if err != nil || len(b) < n {
		return r, fmt.Errorf("decoding metadata: not base64")
	}
	b, err = e.sealer.Open(nil, b[:n], b[n:], nil)
	if err != nil {
		return r, fmt.Errorf("decrypting metadata: %w", err)
	}
	if err := json.Unmarshal(b, &r); err != nil {
		return r, fmt.Errorf("reading metadata: %w", err)
	}
	return r, nil
}

// expiresForm is the only form that is read: one byte a character, '0' a digit. What follows is the zone.
const expiresForm = "0000-00-00T00:00:00.000"

// parseExpires reads a time in the server's own form. The error is the text of its library.
func parseExpires(s string) (time.Time, error) {
	for i := range expiresForm {
		if i >= len(s) || !fits(expiresForm[i], s[i]) {
			return time.Time{}, malformed(s, i)
		}
	}
	t, err := time.Parse("2006-01-02T15:04:05.999999999Z07:00", s)
	if err != nil {
		return time.Time{}, malformed(s, len(expiresForm))
	}
	return t, nil
}

func fits(form, c byte) bool {
	if form == '0' {
		return c >= '0' && c <= '9'
	}
	return c == form
}

func malformed(s string, at int) error {
	const sample = 32
	shown := s
	if n := at + sample; len(s) > n+3 {
		shown = s[:n] + "..."
	}
	switch {
	case at == 0:
		return failure(fmt.Sprintf("Invalid format: %s", strconv.Quote(shown)))
	case at >= len(s):
		return failure(fmt.Sprintf("Invalid format: %s is too short", strconv.Quote(shown)))
	}
	return failure(fmt.Sprintf("Invalid format: %s is malformed at %s", strconv.Quote(shown), strconv.Quote(shown[at:])))
}
