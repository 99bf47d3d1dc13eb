package httpclient

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
)

const (
	// maxLine and maxHead bound what is read before the body, in bytes.
	maxLine = 64 << 10
	maxHead = 1 << 20
)

// Answer is what a server sent.
type Answer struct {
	Status int
	// Location is where the answer came from, after redirects.
	Location Location

	conn    net.Conn
	r       *bufio.Reader
	host    string
	done    func()
	headers []header
	body    body
}

type header struct{ name, value string }

// Header returns the value of a header; several of one name are joined by commas.
func (a *Answer) Header(name string) (string, bool) {
	var values []string
	for _, h := range a.headers {
		if strings.EqualFold(h.name, name) {
			values = append(values, h.value)
		}
	}
	return strings.Join(values, ", "), len(values) > 0
}

// Chunked tells whether the body comes in chunks.
func (a *Answer) Chunked() bool {
	encoding, _ := a.Header("Transfer-Encoding")
	return strings.EqualFold(encoding, "chunked")
}

// Next fills p from the body, at most to the end of a chunk, and counts the bytes as they come. At the end, also a premature
// one, the error is io.EOF; other errors are *Error.
func (a *Answer) Next(p []byte, count func(n int)) (int, error) {
	n, err := a.body.next(a.r, p, count)
	return n, translate(err)
}

// Close ends the connection.
func (a *Answer) Close() error {
	a.done()
	return a.conn.Close()
}

func (a *Answer) read() error {
	for {
		if err := a.readStatus(); err != nil {
			return err
		}
		if err := a.readHeaders(); err != nil {
			return err
		}
		if a.Status >= 200 {
			break
		}
		a.headers = nil
	}
	a.body = a.newBody()
	return nil
}

// readStatus skips lines until one begins with HTTP.
func (a *Answer) readStatus() error {
	for size := 0; size < maxHead; {
		line, err := readLine(a.r)
		switch {
		case errors.Is(err, io.EOF) && size == 0 && line == "":
			return &Error{Text: fmt.Sprintf("The server %s failed to respond", a.host), NoAnswer: true}
		case err != nil && !errors.Is(err, io.EOF):
			return err
		case strings.HasPrefix(line, "HTTP"):
			return a.parseStatus(line)
		case err != nil:
			return textf("The server %s failed to respond with a valid HTTP response", a.host)
		}
		size += len(line) + 1
	}
	return textf("The server %s failed to respond with a valid HTTP response", a.host)
}

func (a *Answer) parseStatus(line string) error {
	_, rest, _ := strings.Cut(line, " ")
	code, _, _ := strings.Cut(strings.TrimLeft(rest, " "), " ")
	status, err := strconv.Atoi(code)
	if err != nil {
		return textf("Unable to parse status code from status line: '%s'", line)
	}
	a.Status = status
	return nil
}

func (a *Answer) readHeaders() error {
	for size := 0; size < maxHead; {
		line, err := readLine(a.r)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if line == "" {
			return nil
		}
		size += len(line)
		if line[0] == ' ' || line[0] == '\t' {
			if n := len(a.headers); n > 0 {
				a.headers[n-1].value += " " + strings.TrimSpace(line)
			}
			continue
		}
		name, value, ok := strings.Cut(line, ":")
		if !ok {
			return textf("Unable to parse header: %s", line)
		}
		a.headers = append(a.headers, header{strings.TrimSpace(name), strings.TrimSpace(value)})
	}
	return textf("Header section too long")
}

// readLine returns a line without its end. At the end of the stream it returns what there is and io.EOF.
func readLine(r *bufio.Reader) (string, error) {
	var line []byte
	for len(line) < maxLine {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		return strings.TrimRight(string(line), "\r\n"), err
	}
	return "", textf("Header line too long")
}
