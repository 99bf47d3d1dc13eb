package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/capcat/capcat/imagecatalog/artifact"
)

// smallTimeout bounds one attempt at a small file, which a source could drag out for hours without ever being silent.
const smallTimeout = 2 * time.Minute

// Small reads a whole small file into memory, under the same rules and retries as Fetch; TooLarge when it has more than
// max bytes. The error names the address without user info and query.
func (f *Fetcher) Small(ctx context.Context, rawURL string, max int64) ([]byte, error) {
	s, err := parseSource(rawURL, f.opts.AllowFile)
	if err != nil {
		return nil, err
	}
	var data []byte
	err = f.retry(ctx, func() (bool, error) {
		data, err = f.readSmall(ctx, s, max)
		return false, err
	})
	if err != nil && artifact.CodeOf(err) != artifact.Canceled {
		return nil, sumUp([]failure{{s, err}})
	}
	return data, err
}

func (f *Fetcher) readSmall(ctx context.Context, s source, max int64) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, smallTimeout, errStalled)
	defer cancel()
	var r io.Reader
	if s.url.Scheme == "file" {
		file, err := openRegular(s.url.Path)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		r = file
	} else {
		a, err := f.ask(ctx, s, 0, "")
		if err != nil {
			return nil, err
		}
		defer a.close()
		r = a
	}
	data, err := io.ReadAll(io.LimitReader(r, max+1))
	var ours *artifact.Error
	switch {
	case errors.As(err, &ours):
		return nil, ours
	case err != nil:
		return nil, fileError(err)
	case int64(len(data)) > max:
		return nil, artifact.NewError(artifact.TooLarge, fmt.Sprintf("the file has more than %d bytes", max))
	}
	return data, nil
}

// openRegular opens a file, and no pipe or device that could keep us waiting.
func openRegular(name string) (*os.File, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, fileError(err)
	}
	if !info.Mode().IsRegular() {
		return nil, artifact.NewError(artifact.InvalidURL, "the address names no regular file")
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, fileError(err)
	}
	return f, nil
}
