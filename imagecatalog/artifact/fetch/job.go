package fetch

import (
	"context"
	"errors"
	"fmt"
	"hash"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"time"

	"github.com/capcat/capcat/imagecatalog/artifact"
)

const (
	maxMirrors = 16
	// worthwhile is how much farther than ever before a broken transfer must come not to count as a failed attempt.
	worthwhile = 1 << 20
	copyBuffer = 256 << 10
)

// job is one Fetch: what the sink and the hashes have seen, across attempts and mirrors.
type job struct {
	fetcher *Fetcher
	req     Request
	max     int64
	hashes  map[artifact.Algorithm]hash.Hash
	seen    int64
}

// Fetch brings the file into r.Partial. Mirrors are tried in order until one delivers bytes with the expected digests;
// when none does, the error has the code of the first failure that can pass, else of the first failure, and names
// every mirror. What can be resumed stays in r.Partial after a fault that can pass; bytes that are wrong do not stay.
func (f *Fetcher) Fetch(ctx context.Context, r Request) (Result, error) {
	sources, err := parseSources(r.URLs, f.opts.AllowFile)
	if err != nil {
		return Result{}, err
	}
	j := &job{fetcher: f, req: r, max: r.MaxBytes}
	if j.max <= 0 {
		j.max = artifact.DefaultMaxDownloadBytes
	}
	j.forget()
	res, err := j.mirrors(ctx, sources)
	if err != nil {
		err = errors.Join(err, j.tidy())
	}
	return res, err
}

func (j *job) mirrors(ctx context.Context, sources []source) (Result, error) {
	var failures []failure
	for _, s := range resumableFirst(sources, readState(j.req.State).Source) {
		res, err := j.mirror(ctx, s)
		if err == nil {
			return res, nil
		}
		if ours(err) {
			return Result{}, err
		}
		failures = append(failures, failure{s, err})
	}
	return Result{}, sumUp(failures)
}

func parseSources(urls []string, allowFile bool) ([]source, error) {
	if len(urls) == 0 || len(urls) > maxMirrors {
		return nil, artifact.NewError(artifact.InvalidURL, fmt.Sprintf("a file has 1 to %d addresses, not %d", maxMirrors, len(urls)))
	}
	var all []source
	for i, raw := range urls {
		s, err := parseSource(raw, allowFile)
		if err != nil {
			return nil, fmt.Errorf("reading address %d: %w", i+1, err)
		}
		all = append(all, s)
	}
	return all, nil
}

// resumableFirst moves the mirror of the partial file to the front.
func resumableFirst(sources []source, id string) []source {
	for i, s := range sources {
		if sourceID(s) == id {
			return append(append([]source{s}, sources[:i]...), sources[i+1:]...)
		}
	}
	return sources
}

// ours says whether a failure is of this machine or of the caller, so that another mirror does not help.
func ours(err error) bool {
	switch artifact.CodeOf(err) {
	case artifact.Canceled, artifact.NoSpace, artifact.StoreFailed:
		return true
	case "":
		return true // from the sink
	default:
		return false
	}
}

// mirror tries one mirror until it delivers, or fails for good, or often enough.
func (j *job) mirror(ctx context.Context, s source) (Result, error) {
	var res Result
	var farthest int64
	err := j.fetcher.retry(ctx, func() (worth bool, err error) {
		res, err = j.attempt(ctx, s)
		if worth = j.seen >= farthest+worthwhile; worth {
			farthest = j.seen
		}
		return worth, err
	})
	if err != nil && !ours(err) && artifact.RetryOf(err) != artifact.RetryBackoff {
		err = errors.Join(err, j.clear())
	}
	return res, err
}

// retry calls do until it succeeds, fails for good, or has failed often enough without achieving something worthwhile.
func (f *Fetcher) retry(ctx context.Context, do func() (worth bool, err error)) error {
	backoff := f.opts.Backoff
	for failed := 1; ; failed++ {
		worth, err := do()
		if err == nil || ours(err) || artifact.RetryOf(err) != artifact.RetryBackoff {
			return err
		}
		if worth {
			failed, backoff = 1, f.opts.Backoff
		}
		pause, patient := f.pause(err, backoff)
		if failed >= f.opts.Attempts || !patient {
			return err
		}
		if err := f.wait(ctx, pause); err != nil {
			return artifact.WrapError(artifact.Canceled, "the fetch was stopped", err)
		}
		backoff = min(2*backoff, f.opts.MaxBackoff)
	}
}

// pause is how long to wait before the next attempt; not patient when the source asked for more than we wait.
func (f *Fetcher) pause(err error, backoff time.Duration) (pause time.Duration, patient bool) {
	var e *artifact.Error
	if errors.As(err, &e) && e.After > 0 {
		return e.After, e.After <= f.opts.MaxRetryAfter
	}
	return backoff/2 + rand.N(backoff/2+1), true
}

// attempt transfers what is missing from one mirror and verifies the whole. A partial file that the mirror does not
// continue, or that turns out wrong in the end, is begun again once.
func (j *job) attempt(ctx context.Context, s source) (Result, error) {
	st := readState(j.req.State)
	offset := fileSize(j.req.Partial)
	complete := offset > 0 && offset == st.Total && len(j.req.Expect) > 0
	resumable := st.Validator != "" && (st.Total == 0 || offset <= st.Total)
	if st.Source != sourceID(s) || !(complete || resumable) || offset > j.max {
		offset = 0
	}
	if offset > 0 {
		res, err := j.transfer(ctx, s, st, offset)
		if !errors.Is(err, errChanged) && artifact.CodeOf(err) != artifact.ChecksumMismatch {
			return res, err
		}
	}
	if err := j.clear(); err != nil {
		return Result{}, err
	}
	res, err := j.transfer(ctx, s, state{}, 0)
	if artifact.CodeOf(err) == artifact.ChecksumMismatch {
		err = errors.Join(err, j.clear())
	}
	return res, err
}

// transfer is one exchange, and the proof of the whole file.
func (j *job) transfer(ctx context.Context, s source, st state, offset int64) (Result, error) {
	if err := j.catchUp(ctx, offset, st.Total); err != nil {
		return Result{}, err
	}
	e := &exchange{fetcher: j.fetcher, job: j, source: s, offset: offset, known: st}
	var err error
	switch {
	case s.url.Scheme == "file":
		if err = e.copyFile(ctx); err == nil {
			err = j.catchUp(ctx, e.done, e.total)
		}
	case offset > 0 && offset == st.Total:
		e.done, e.redirected = offset, st.Redirected
	default:
		err = e.run(ctx)
	}
	if err != nil {
		return Result{}, err
	}
	if err := j.verify(); err != nil {
		return Result{}, err
	}
	return Result{
		Bytes: e.done, SHA256: artifact.DigestOf(artifact.SHA256, j.hashes[artifact.SHA256]),
		Mirror: s.String(), Redirected: e.redirected, Resumed: offset,
	}, nil
}

// verify compares every expected digest.
func (j *job) verify() error {
	for _, want := range j.req.Expect {
		if got := artifact.DigestOf(want.Algorithm, j.hashes[want.Algorithm]); got != want {
			return artifact.NewError(artifact.ChecksumMismatch, fmt.Sprintf("the file has %s, not %s", got, want))
		}
	}
	return nil
}

// consume shows bytes to the hashes and the sink.
func (j *job) consume(p []byte) error {
	for _, h := range j.hashes {
		h.Write(p)
	}
	j.seen += int64(len(p))
	if j.req.Sink == nil {
		return nil
	}
	if _, err := j.req.Sink.Write(p); err != nil {
		return fmt.Errorf("passing the file on: %w", err)
	}
	return nil
}

// forget starts the hashes anew.
func (j *job) forget() {
	j.hashes = map[artifact.Algorithm]hash.Hash{artifact.SHA256: artifact.SHA256.New()}
	for _, d := range j.req.Expect {
		if h := d.Algorithm.New(); h != nil && j.hashes[d.Algorithm] == nil {
			j.hashes[d.Algorithm] = h
		}
	}
	j.seen = 0
}

// catchUp makes hashes and sink have seen exactly the first n bytes of the partial file.
func (j *job) catchUp(ctx context.Context, n, total int64) (err error) {
	if j.seen > n {
		j.forget()
		if j.req.Sink != nil {
			if err := j.req.Sink.Reset(); err != nil {
				return fmt.Errorf("beginning again: %w", err)
			}
		}
	}
	if j.seen == n {
		return nil
	}
	f, err := os.Open(j.req.Partial)
	if err != nil {
		return localError("reading the partial file", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if _, err := f.Seek(j.seen, io.SeekStart); err != nil {
		return localError("reading the partial file", err)
	}
	buf := make([]byte, copyBuffer)
	for j.seen < n {
		if ctx.Err() != nil {
			return artifact.WrapError(artifact.Canceled, "the fetch was stopped", context.Cause(ctx))
		}
		k, err := io.ReadFull(f, buf[:min(int64(len(buf)), n-j.seen)])
		if err != nil {
			return localError("reading the partial file", err)
		}
		if err := j.consume(buf[:k]); err != nil {
			return err
		}
		j.progress(j.seen, total)
	}
	return nil
}

// tidy removes a partial file that nobody could resume.
func (j *job) tidy() error {
	if st := readState(j.req.State); fileSize(j.req.Partial) > 0 && (st.Validator != "" || fileSize(j.req.Partial) == st.Total) {
		return nil
	}
	return j.clear()
}

// clear removes the partial file and its state.
func (j *job) clear() error {
	if err := errors.Join(removeIfThere(j.req.Partial), removeIfThere(j.req.State)); err != nil {
		return localError("clearing the partial file", err)
	}
	return nil
}

func (j *job) progress(done, total int64) {
	if j.req.Progress != nil {
		j.req.Progress(done, total)
	}
}

func (j *job) tooLarge() error {
	return artifact.NewError(artifact.TooLarge, fmt.Sprintf("the file has more than %d bytes", j.max))
}

// failure is what went wrong with one mirror.
type failure struct {
	source source
	err    error
}

// sumUp makes one error of all failures: of the class that can pass soonest.
func sumUp(failures []failure) error {
	var best, e *artifact.Error
	var texts []string
	for _, f := range failures {
		if !errors.As(f.err, &e) {
			continue
		}
		if best == nil || e.Retry < best.Retry {
			best = e
		}
		texts = append(texts, f.source.String()+": "+describe(e, len(failures) > 1))
	}
	if best == nil {
		return errors.New("no source was tried")
	}
	return &artifact.Error{Code: best.Code, Retry: best.Retry, After: best.After, Message: strings.Join(texts, "; ")}
}

// describe is the text of an error, with its code only where several are told apart.
func describe(e *artifact.Error, withCode bool) string {
	if withCode {
		return e.Error()
	}
	if e.Err == nil {
		return e.Message
	}
	return e.Message + ": " + e.Err.Error()
}
