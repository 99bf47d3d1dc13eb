package secondarystorage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/capcat/capcat/test/cloudsim/secondarystorage/filetype"
	"github.com/capcat/capcat/test/cloudsim/secondarystorage/httpclient"
)

const (
	// blockSize is what is read and written at a time, and what must be there before the content is looked at.
	blockSize = 1 << 20
	// maxResumes bounds what the storage VM would do for ever with a server that closes again and again.
	maxResumes = 1000
)

// fetch brings the bytes. Its error is the text that is shown.
func (d *Download) fetch(ctx context.Context, source httpclient.Location, file *tempFile) error {
	e := d.engine
	if err := e.network.checkHost(ctx, source); err != nil {
		return err
	}
	client := &httpclient.Client{
		Dial: e.dialer(internalSites(d.request.AllowedInternalSites)), Slot: e.slots.take, Roots: e.network.Roots, Now: e.clock.Now,
		FollowRedirects: d.request.FollowRedirects, User: d.request.User, Password: d.request.Password,
	}
	t := &transfer{Download: d, client: client, source: source, at: source, file: file}
	for range maxResumes {
		complete, err := t.once(ctx)
		if err != nil || complete {
			return unchecked(err)
		}
	}
	return failure(t.summary("(incomplete download)"))
}

// unchecked marks the exceptions that the storage VM does not expect.
func unchecked(err error) error {
	var e *httpclient.Error
	if errors.As(err, &e) && e.Unchecked {
		return failure("Failed to install: " + e.Text)
	}
	return err
}

// transfer is a download in flight: one request, and more when the connection is cut.
type transfer struct {
	*Download
	client *httpclient.Client
	// source is the URL as given, at the one that redirects lead to.
	source, at httpclient.Location
	file       *tempFile
	// unknown is true when the server does not tell how much will come.
	unknown bool
}

// once makes one request and reads its body. It reports whether the download is complete; if not, it must be resumed.
func (t *transfer) once(ctx context.Context) (bool, error) {
	from := t.file.size
	a, err := t.client.Get(ctx, t.at, from)
	if err != nil {
		return false, err
	}
	defer a.Close()
	t.at = a.Location
	if err := t.checkStatus(a.Status, from); err != nil {
		return false, err
	}
	empty, err := t.learnSize(a)
	if err != nil || empty {
		return empty, err
	}
	if t.tooLarge() {
		return false, failure("Download file size is too large")
	}
	t.set(DownloadInProgress, t.Answer().ErrorText)
	return t.receive(ctx, a, from)
}

func (t *transfer) checkStatus(status int, from int64) error {
	switch {
	case from > 0 && status == http.StatusPartialContent, from == 0 && status == http.StatusOK:
		return nil
	case from > 0:
		return failure("HTTP Server does not support partial get")
	case (status == http.StatusMovedPermanently || status == http.StatusFound) && !t.request.FollowRedirects:
		return failure(fmt.Sprintf("Failed to download %s due to redirection, response code: %d", t.request.URL, status))
	}
	return failure(fmt.Sprintf(" HTTP Server returned %d (expected 200 OK) ", status))
}

// sizeHints are headers that tell the length of a body that comes in chunks.
var sizeHints = [...]string{
	"x-file-size", "x-amz-meta-size", "x-amz-meta-content-length", "x-goog-meta-size", "x-goog-stored-content-length",
	"x-object-meta-size", "x-original-content-length", "x-oss-meta-content-length", "Content-Range",
}

// learnSize finds out how much will come; only the first answer counts. It reports whether nothing will come.
func (t *transfer) learnSize(a *httpclient.Answer) (empty bool, err error) {
	text, ok := a.Header("Content-Length")
	if !ok && !a.Chunked() {
		return false, failure(" Failed to receive length of download ")
	}
	t.mu.Lock()
	known := t.remote != 0
	t.mu.Unlock()
	if !ok && known {
		return false, nil
	}
	if !ok {
		text, ok = hint(a)
	}
	size := t.request.MaxBytes
	t.unknown = t.unknown || !ok
	if ok {
		if size, err = strconv.ParseInt(text, 10, 64); err != nil {
			return false, failure(fmt.Sprintf("Failed to install: For input string: %q", text))
		}
	}
	if ok && size == 0 {
		return true, nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.remote == 0 {
		t.remote = size
	}
	return false, nil
}

func hint(a *httpclient.Answer) (string, bool) {
	for _, name := range sizeHints {
		value, ok := a.Header(name)
		if !ok {
			continue
		}
		if _, total, ok := strings.Cut(value, "/"); ok {
			value = total
		}
		return value, true
	}
	return "", false
}

// receive reads a body. After a resume the first block goes where the file ended, and the others to where they would belong
// had the download begun anew: the storage VM counts so.
func (t *transfer) receive(ctx context.Context, a *httpclient.Answer, from int64) (bool, error) {
	block := make([]byte, blockSize)
	t.file.offset = from
	verified, ended := false, false
	for offset := int64(0); t.left(offset) >= 0; {
		n, err := a.Next(block, t.count)
		if errors.Is(err, io.EOF) {
			ended = true
			break
		}
		if err != nil {
			return false, t.broken(ctx, err)
		}
		if _, err := t.file.Write(block[:n]); err != nil {
			return false, err
		}
		offset += int64(n)
		t.file.offset = offset
		if !verified && (offset >= blockSize || t.left(offset) <= 0) {
			if err := t.verify(); err != nil {
				return false, err
			}
			if t.isAborted() {
				return false, failure(t.summary("(incomplete download)"))
			}
			verified = true
		}
	}
	if err := t.file.finish(); err != nil {
		return false, err
	}
	t.mu.Lock()
	complete := t.total >= t.remote
	t.mu.Unlock()
	if complete || ended && t.unknown {
		return true, nil
	}
	t.set(DownloadInProgress, t.summary("(incomplete download)"))
	return false, nil
}

func (t *transfer) tooLarge() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.remote > t.request.MaxBytes
}

func (t *transfer) left(offset int64) int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.remote - offset
}

func (t *transfer) count(n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.total += int64(n)
}

func (t *transfer) isAborted() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.aborted
}

func (t *transfer) broken(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return failure("Socket closed")
	}
	return err
}

// verify looks at the content so far.
func (t *transfer) verify() error {
	if err := t.file.settle(); err != nil {
		return err
	}
	found, err := mismatch(t.file, t.file.size, decoded(t.source.Path))
	if err != nil {
		return err
	}
	if found == "" {
		return nil
	}
	return failure("Failed to install: Template content is unsupported, or mismatch between selected format and template content. Found  : " + filetype.Short(found))
}

func (t *transfer) summary(end string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return fmt.Sprintf("Downloaded %s bytes %s", humanSize(t.total), end)
}

// humanSize writes bytes as the storage VM does: "(1.20 MB) 1258536".
func humanSize(n int64) string {
	if n < 1<<10 {
		return fmt.Sprintf("(%d bytes) %d", n, n)
	}
	value, unit := float64(n), 0
	for value >= 1<<10 && unit < len("KMGTPE") {
		value /= 1 << 10
		unit++
	}
	return fmt.Sprintf("(%.2f %cB) %d", value, "KMGTPE"[unit-1], n)
}
