package secondarystorage

import (
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"regexp"
)

// fileName is in the headers of a part that is a file, even when it is empty.
var fileName = regexp.MustCompile(`(?i);\s*filename="?([^";]*)"?`)

// firstFile stores the first file of a body and reads the rest. The file is nil when there is none, or when the body ends before
// the file does.
func (r *receipt) firstFile(body io.Reader, boundary string) (file *tempFile, name string, err error) {
	parts := multipart.NewReader(body, boundary)
	for {
		part, err := parts.NextRawPart()
		if err != nil {
			// The end, or what is not a part: all the same here.
			_, _ = io.Copy(io.Discard, body)
			return file, name, nil
		}
		m := fileName.FindStringSubmatch(part.Header.Get("Content-Disposition"))
		if m == nil || file != nil {
			continue
		}
		stored, err := r.store(part)
		if err != nil {
			return nil, "", err
		}
		if stored == nil {
			continue
		}
		file, name = stored, m[1]
	}
}

// store writes a part to the store. It returns nothing when the part has no end.
func (r *receipt) store(part io.Reader) (*tempFile, error) {
	file, err := r.engine.tempFile(r.job.folder)
	if err != nil {
		return nil, err
	}
	block := make([]byte, 64<<10)
	for {
		n, err := part.Read(block)
		if _, err := file.Write(block[:n]); err != nil {
			file.discard()
			return nil, fmt.Errorf("receiving a file: %w", err)
		}
		r.count(int64(n))
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			file.discard()
			return nil, nil
		}
	}
	if err := file.finish(); err != nil {
		file.discard()
		return nil, err
	}
	return file, nil
}
