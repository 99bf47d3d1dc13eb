package httpclient

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// body is one of the ways in which a length is told.
type body interface {
	next(r *bufio.Reader, p []byte, count func(int)) (int, error)
}

func (a *Answer) newBody() body {
	if a.Status == http.StatusNoContent || a.Status == http.StatusNotModified {
		return &counted{}
	}
	if a.Chunked() {
		return &chunked{first: true}
	}
	text, ok := a.Header("Content-Length")
	if n, err := strconv.ParseInt(text, 10, 64); ok && err == nil && n >= 0 {
		return &counted{left: n}
	}
	return &untilClose{}
}

// filler reads until a block is full. What came before a failure is returned first, the failure on the next call.
type filler struct{ failure error }

func (f *filler) fill(r *bufio.Reader, p []byte, count func(int)) (int, error) {
	if f.failure != nil {
		return 0, f.failure
	}
	n := 0
	for n < len(p) && f.failure == nil {
		var m int
		m, f.failure = r.Read(p[n:])
		n += m
		count(m)
	}
	if n == 0 {
		return 0, f.failure
	}
	return n, nil
}

type counted struct {
	filler
	left int64
}

func (c *counted) next(r *bufio.Reader, p []byte, count func(int)) (int, error) {
	if c.left == 0 {
		return 0, io.EOF
	}
	n, err := c.fill(r, p[:min(int64(len(p)), c.left)], count)
	c.left -= int64(n)
	return n, err
}

type untilClose struct{ filler }

func (u *untilClose) next(r *bufio.Reader, p []byte, count func(int)) (int, error) {
	return u.fill(r, p, count)
}

type chunked struct {
	filler
	first bool
	left  int64
	end   bool
}

func (c *chunked) next(r *bufio.Reader, p []byte, count func(int)) (int, error) {
	if c.end {
		return 0, io.EOF
	}
	if c.left == 0 {
		if err := c.begin(r); err != nil {
			return 0, err
		}
		if c.end {
			return 0, io.EOF
		}
	}
	n, err := c.fill(r, p[:min(int64(len(p)), c.left)], count)
	c.left -= int64(n)
	return n, err
}

// begin reads the line before a chunk, and the line end after the one before.
func (c *chunked) begin(r *bufio.Reader) error {
	if !c.first {
		if err := chunkEnd(r); err != nil {
			return err
		}
	}
	c.first = false
	line, err := readLine(r)
	if errors.Is(err, io.EOF) {
		return textf("chunked stream ended unexpectedly")
	}
	if err != nil {
		return err
	}
	size, _, _ := strings.Cut(line, ";")
	n, err := strconv.ParseInt(strings.TrimSpace(size), 16, 64)
	if err != nil || n < 0 {
		return textf("Bad chunk size: %s", strings.TrimSpace(size))
	}
	c.left, c.end = n, n == 0
	return nil
}

func chunkEnd(r *bufio.Reader) error {
	got := [2]int{-1, -1}
	for i := range got {
		b, err := r.ReadByte()
		if err == nil {
			got[i] = int(b)
		} else if !errors.Is(err, io.EOF) {
			return err
		}
	}
	if got != [2]int{'\r', '\n'} {
		return &Error{Text: fmt.Sprintf("CRLF expected at end of chunk: %d/%d", got[0], got[1])}
	}
	return nil
}
