package index

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"time"

	"aead.dev/minisign"
)

// ErrSignature says that a signature is not one of the key over the index.
var ErrSignature = errors.New("the signature does not vouch for the index")

// Sign signs the bytes of an index in minisign's format, over their BLAKE2b-512 digest as current minisign does it. The
// trusted comment has the time and the name of the file.
func Sign(key minisign.PrivateKey, data []byte, now time.Time) ([]byte, error) {
	r := minisign.NewReader(bytes.NewReader(data))
	if _, err := bytes.NewBuffer(nil).ReadFrom(r); err != nil {
		return nil, fmt.Errorf("hashing the index: %w", err)
	}
	trusted := fmt.Sprintf("timestamp:%d\tfile:%s\thashed", now.Unix(), Name)
	return r.SignWithComments(key, trusted, fmt.Sprintf("signature of a capcat image index, key %016X", key.ID())), nil
}

// Verify says whether the signature is one of the key over the bytes of the index, and gives the comment that it also vouches
// for. Signatures over the bytes themselves, as minisign made them before 0.10, are taken too.
func Verify(key minisign.PublicKey, data, signature []byte) (trustedComment string, err error) {
	var s minisign.Signature
	if err := s.UnmarshalText(bytes.ReplaceAll(signature, []byte("\r\n"), []byte("\n"))); err != nil {
		return "", fmt.Errorf("%w: %w", ErrSignature, err)
	}
	if s.KeyID != key.ID() {
		return "", fmt.Errorf("%w: it is of the key %016X, not of %016X", ErrSignature, s.KeyID, key.ID())
	}
	if !minisign.Verify(key, data, signature) {
		return "", ErrSignature
	}
	return s.TrustedComment, nil
}

// ParsePublicKey reads a public key: a file of minisign with its comment, or the key alone.
func ParsePublicKey(text []byte) (minisign.PublicKey, error) {
	var key minisign.PublicKey
	if err := key.UnmarshalText(bytes.TrimSpace(text)); err != nil {
		return key, fmt.Errorf("this is no public key of minisign: %w", err)
	}
	return key, nil
}

// ErrPassword says that the key needs a password, or another one.
var ErrPassword = errors.New("the secret key is encrypted: it needs the right password")

// ParsePrivateKey reads a secret key of minisign, encrypted or not. Password is called when the key is encrypted.
func ParsePrivateKey(text []byte, password func() (string, error)) (minisign.PrivateKey, error) {
	text = []byte(strings.TrimSpace(string(text)))
	if !minisign.IsEncrypted(text) {
		var key minisign.PrivateKey
		if err := key.UnmarshalText(text); err != nil {
			return key, errors.New("this is no secret key of minisign")
		}
		return key, nil
	}
	if password == nil {
		return minisign.PrivateKey{}, ErrPassword
	}
	secret, err := password()
	if err != nil {
		return minisign.PrivateKey{}, fmt.Errorf("asking for the password: %w", err)
	}
	key, err := minisign.DecryptKey(secret, text)
	if err != nil {
		return minisign.PrivateKey{}, ErrPassword
	}
	return key, nil
}

// PublicKeyOf gives the other half of a secret key.
func PublicKeyOf(key minisign.PrivateKey) (minisign.PublicKey, error) {
	public, ok := key.Public().(minisign.PublicKey)
	if !ok {
		return minisign.PublicKey{}, errors.New("the secret key has no public key")
	}
	return public, nil
}
