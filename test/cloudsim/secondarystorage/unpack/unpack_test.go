package unpack

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/dsnet/compress/bzip2"
	"github.com/ulikunitz/xz"
)

const content = "hello, hello, hello, hello"

func pack(t *testing.T, name string) []byte {
	t.Helper()
	var b bytes.Buffer
	var w io.WriteCloser
	var err error
	switch name {
	case "gzip":
		w = gzip.NewWriter(&b)
	case "bzip2":
		w, err = bzip2.NewWriter(&b, nil)
	case "xz":
		w, err = xz.NewWriter(&b)
	}
	if err == nil {
		_, err = io.WriteString(w, content)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestTools(t *testing.T) {
	tools := map[string]func(io.Writer, io.Reader) error{"gzip": Gunzip, "bzip2": Bunzip2, "xz": Unxz}
	double := func(b []byte) []byte { return append(bytes.Clone(b), b...) }
	tail := func(s string) func([]byte) []byte {
		return func(b []byte) []byte { return append(bytes.Clone(b), s...) }
	}
	cut := func(b []byte) []byte { return b[:len(b)-3] }
	const fine, silent = "fine", "without a word"
	for _, test := range []struct {
		tool, name, want string
		change           func([]byte) []byte
	}{
		{"gzip", "whole", fine, bytes.Clone}, {"gzip", "two members", fine, double},
		{"gzip", "zeros after it", fine, tail("\x00\x00\x00")}, {"gzip", "text after it", silent, tail("trailing")},
		{"gzip", "cut", "unexpected end of file", cut},
		{"gzip", "wrong sum", "invalid compressed data--crc error", func(b []byte) []byte { c := bytes.Clone(b); c[len(c)-8] ^= 1; return c }},
		{"gzip", "wrong length", "invalid compressed data--length error", func(b []byte) []byte { c := bytes.Clone(b); c[len(c)-1] ^= 1; return c }},
		{"bzip2", "whole", fine, bytes.Clone}, {"bzip2", "two streams", fine, double}, {"bzip2", "text after it", fine, tail("trailing")},
		{"bzip2", "cut", silent, cut},
		{"xz", "whole", fine, bytes.Clone}, {"xz", "two streams", fine, double}, {"xz", "text after it", "Compressed data is corrupt", tail("trailing, and more of it")}, {"xz", "some bytes after it", "Unexpected end of input", tail("trailing")},
		{"xz", "padding after it", fine, tail("\x00\x00\x00\x00")}, {"xz", "cut", "Unexpected end of input", cut},
	} {
		t.Run(test.tool+" "+test.name, func(t *testing.T) {
			var out bytes.Buffer
			err := tools[test.tool](&out, bytes.NewReader(test.change(pack(t, test.tool))))
			got := fine
			var failure *Error
			if errors.As(err, &failure) {
				got = failure.Text
				if got == "" {
					got = silent
				}
			} else if err != nil {
				t.Fatal(err)
			}
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
			if want := strings.Repeat(content, 1+strings.Count(test.name, "two ")); got == fine && out.String() != want {
				t.Errorf("got content %q", out.String())
			}
		})
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, ErrTooLarge }

func TestTooLarge(t *testing.T) {
	for name, test := range map[string]struct {
		tool func(io.Writer, io.Reader) error
		want string
	}{"gzip": {Gunzip, ""}, "bzip2": {Bunzip2, ""}, "xz": {Unxz, "Write error: File too large"}} {
		var failure *Error
		if err := test.tool(full{}, bytes.NewReader(pack(t, name))); !errors.As(err, &failure) || failure.Text != test.want {
			t.Errorf("%s: got %v, want %q", name, err, test.want)
		}
	}
}

func archive(t *testing.T, names ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, name := range names {
		e, err := w.Create(name)
		if err == nil {
			_, err = io.WriteString(e, content)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestZip(t *testing.T) {
	one, two := archive(t, "a"), archive(t, "a", "b")
	for name, test := range map[string]struct{ in, unzip, gunzip []byte }{
		"one file":  {one, []byte(content), []byte("")},
		"two files": {two, []byte(content + content), []byte("stdin has more than one entry--rest ignored")},
		"cut":       {one[:40], nil, []byte("unexpected end of file")},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			if err := Unzip(&out, bytes.NewReader(test.in), int64(len(test.in))); err != nil || out.String() != string(test.unzip) {
				t.Errorf("unzip: got %q, %v", out.String(), err)
			}
			var failure *Error
			text := ""
			if err := GunzipZip(io.Discard, bytes.NewReader(test.in)); errors.As(err, &failure) {
				text = failure.Text
			}
			if text != string(test.gunzip) {
				t.Errorf("gzip: got %q, want %q", text, test.gunzip)
			}
		})
	}
}
