package index_test

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"strings"
	"testing"
	"time"

	"aead.dev/minisign"
	"golang.org/x/crypto/blake2b"
	"golang.org/x/crypto/scrypt"

	"github.com/capcat/capcat/imagecatalog/index"
)

func keys(t *testing.T) (minisign.PublicKey, minisign.PrivateKey) {
	t.Helper()
	public, private, err := minisign.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return public, private
}

func TestSign(t *testing.T) {
	public, private := keys(t)
	other, _ := keys(t)
	data := []byte(`{"format":"capcat-image-index/v1"}`)
	signature, err := index.Sign(private, data, time.Unix(1700000000, 0))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(signature), "\n")
	if len(lines) != 5 || !strings.HasPrefix(lines[0], "untrusted comment: ") || lines[2] != "trusted comment: timestamp:1700000000\tfile:index.json\thashed" {
		t.Errorf("signature:\n%s", signature)
	}
	raw, err := base64.StdEncoding.DecodeString(lines[1])
	if err != nil || string(raw[:2]) != "ED" {
		t.Errorf("algorithm %q: the signature is not over the digest (%v)", raw[:2], err)
	}
	comment, err := index.Verify(public, data, signature)
	if err != nil || comment != "timestamp:1700000000\tfile:index.json\thashed" {
		t.Errorf("%q, %v", comment, err)
	}
	forged := bytes.Replace(signature, []byte("timestamp:17"), []byte("timestamp:18"), 1)
	for name, c := range map[string]struct {
		key             minisign.PublicKey
		data, signature []byte
		good            bool
	}{
		"as it is":         {public, data, signature, true},
		"line ends of DOS": {public, data, bytes.ReplaceAll(signature, []byte("\n"), []byte("\r\n")), true},
		"as before 0.10":   {public, data, minisign.SignWithComments(private, data, "timestamp:1", "x"), true},
		"other key":        {other, data, signature, false},
		"other data":       {public, append(bytes.Clone(data), ' '), signature, false},
		"forged comment":   {public, data, forged, false},
		"no signature":     {public, data, nil, false},
		"page":             {public, data, []byte("<html>\n\n\n\n"), false},
		"cut":              {public, data, signature[:100], false},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := index.Verify(c.key, c.data, c.signature); (err == nil) != c.good || err != nil && !errors.Is(err, index.ErrSignature) {
				t.Errorf("%v", err)
			}
		})
	}
}

// lock encrypts a key as minisign does, with less work than is usual so that the test is quick.
func lock(t *testing.T, plain []byte, password string) []byte {
	t.Helper()
	text := strings.Split(strings.TrimSpace(string(plain)), "\n")
	raw, err := base64.StdEncoding.DecodeString(text[1])
	if err != nil {
		t.Fatal(err)
	}
	salt := bytes.Repeat([]byte{7}, 32)
	copy(raw[2:], "Sc")
	copy(raw[6:], salt)
	binary.LittleEndian.PutUint64(raw[38:], 32768)
	binary.LittleEndian.PutUint64(raw[46:], 16<<20)
	sum := blake2b.Sum256(append([]byte("Ed"), raw[54:126]...))
	copy(raw[126:], sum[:])
	stream, err := scrypt.Key([]byte(password), salt, 1024, 8, 1, 104)
	if err != nil {
		t.Fatal(err)
	}
	for i := range stream {
		raw[54+i] ^= stream[i]
	}
	return []byte("untrusted comment: minisign encrypted secret key\n" + base64.StdEncoding.EncodeToString(raw) + "\n")
}

func TestParsePrivateKey(t *testing.T) {
	_, private := keys(t)
	plain, err := private.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	locked := lock(t, plain, "hunter2")
	say := func(word string) func() (string, error) { return func() (string, error) { return word, nil } }
	for name, c := range map[string]struct {
		text     []byte
		password func() (string, error)
		good     bool
		want     error
	}{
		"plain":              {plain, nil, true, nil},
		"plain with newline": {append(bytes.Clone(plain), '\n'), nil, true, nil},
		"locked":             {locked, say("hunter2"), true, nil},
		"wrong password":     {locked, say("hunter3"), false, index.ErrPassword},
		"no password":        {locked, nil, false, index.ErrPassword},
		"nobody to ask":      {locked, func() (string, error) { return "", errors.ErrUnsupported }, false, errors.ErrUnsupported},
		"page":               {[]byte("<html></html>"), nil, false, nil},
		"nothing":            {nil, nil, false, nil},
		"public key":         {[]byte("untrusted comment: x\nRWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3\n"), nil, false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := index.ParsePrivateKey(c.text, c.password)
			if (err == nil) != c.good || c.want != nil && !errors.Is(err, c.want) {
				t.Fatalf("%v", err)
			}
			if c.good && !got.Equal(private) {
				t.Error("another key was read")
			}
			if err != nil && strings.Contains(err.Error(), "hunter") {
				t.Error("the error holds the password")
			}
		})
	}
}

// TestParsePublicKey reads the key of minisign's own documentation.
func TestParsePublicKey(t *testing.T) {
	const text = "untrusted comment: minisign public key E7620F1842B4E81F\nRWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3\n"
	for name, c := range map[string]struct {
		text string
		good bool
	}{
		"file":      {text, true},
		"key alone": {"RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3", true},
		"nothing":   {"", false},
		"page":      {"<html></html>", false},
	} {
		t.Run(name, func(t *testing.T) {
			key, err := index.ParsePublicKey([]byte(c.text))
			if (err == nil) != c.good || c.good && key.ID() != 0xE7620F1842B4E81F {
				t.Errorf("%X, %v", key.ID(), err)
			}
		})
	}
}
