package importer

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/capcat/capcat/imagecatalog/artifact"
	"github.com/capcat/capcat/imagecatalog/artifact/fetch"
	"github.com/capcat/capcat/imagecatalog/artifact/inspect"
	"github.com/capcat/capcat/imagecatalog/artifact/store"
)

// run is one import.
type run struct {
	importer *Importer
	spec     Spec
	meter    *meter
	proof    proof
	claim    *store.Claim
}

// do proves, claims, and then reuses or transfers.
func (r *run) do(ctx context.Context) outcome {
	r.meter.enter(Fetching)
	var err error
	if r.proof, err = r.importer.prove(ctx, r.spec); err != nil {
		return outcome{err: err}
	}
	if r.claim, err = r.importer.opts.Store.Claim(ctx, r.proof.key); err != nil {
		return outcome{err: err}
	}
	f, reused, err := r.obtain(ctx)
	if err = errors.Join(err, r.claim.Release()); err != nil {
		return outcome{err: err}
	}
	res := f.result(r.proof.weak)
	if r.spec.Checksum.URL != "" {
		if err := r.importer.remember(ctx, r.spec, res, r.proof.expect[0]); err != nil {
			return outcome{err: err}
		}
	}
	return outcome{result: res, reused: reused}
}

// obtain gives the facts of the image, by whatever is least work.
func (r *run) obtain(ctx context.Context) (facts, bool, error) {
	f, found, err := r.recall()
	if err != nil {
		return facts{}, false, err
	}
	if found {
		f, err = r.reuse(ctx, f)
		return f, true, err
	}
	select {
	case r.importer.slots <- struct{}{}:
		defer func() { <-r.importer.slots }()
	case <-ctx.Done():
		return facts{}, false, artifact.WrapError(artifact.Canceled, "waiting for a turn", context.Cause(ctx))
	}
	f, err = r.transfer(ctx)
	if err != nil && artifact.RetryOf(err) != artifact.RetryBackoff {
		err = errors.Join(err, r.claim.Discard())
	}
	return f, false, err
}

// reuse holds known content against this spec, which may ask for other limits or another hypervisor.
func (r *run) reuse(ctx context.Context, f facts) (facts, error) {
	switch {
	case f.DownloadBytes > r.spec.Limits.MaxDownloadBytes:
		return f, artifact.NewError(artifact.TooLarge, fmt.Sprintf("the file has more than %d bytes", r.spec.Limits.MaxDownloadBytes))
	case f.Compression != artifact.None && f.ContentBytes > r.spec.Limits.MaxOutputBytes:
		return f, artifact.NewError(artifact.DecompressionBomb, fmt.Sprintf("the output exceeds the cap of %d bytes", r.spec.Limits.MaxOutputBytes))
	}
	blob, err := r.importer.opts.Store.Open(f.content)
	if err != nil {
		return f, err
	}
	if f.Inspected != r.inspectOptions() {
		f.memory, err = r.inspect(ctx, blob.File, f.memory)
	}
	if err = errors.Join(err, blob.Close()); err != nil {
		return f, err
	}
	return f, r.claim.Discard()
}

// transfer brings the bytes in, one pass over them, and keeps them only when everything is right.
func (r *run) transfer(ctx context.Context) (facts, error) {
	x := &expansion{
		ctx: ctx, store: r.importer.opts.Store, path: r.claim.ContentPath(),
		limits: r.spec.Limits, strict: len(r.proof.expect) == 0,
	}
	f, err := r.fetch(ctx, x)
	x.stop()
	if err == nil {
		err = r.keep(f)
	}
	if err != nil {
		return facts{}, errors.Join(err, x.remove())
	}
	return f, nil
}

// fetch downloads and expands at the same time, then looks into the content.
func (r *run) fetch(ctx context.Context, x *expansion) (facts, error) {
	room := r.importer.opts.Store.Room(ctx)
	defer room.Release()
	got, err := r.importer.opts.Fetcher.Fetch(ctx, fetch.Request{
		URLs: r.spec.URLs, Partial: r.claim.DownloadPath(), State: r.claim.StatePath(),
		Expect: r.proof.expect, MaxBytes: r.spec.Limits.MaxDownloadBytes,
		Sink: x, Space: room, Progress: r.meter.count,
	})
	if err != nil {
		return facts{}, err
	}
	r.meter.enter(Expanding)
	content, err := x.finish()
	if err != nil {
		return facts{}, err
	}
	f := facts{download: got.SHA256, content: content.digest, memory: memory{
		DownloadBytes: got.Bytes, ContentBytes: content.size, Compression: content.compression,
		MirrorUsed: got.Mirror, SourceRedirected: got.Redirected,
	}}
	path := x.path
	if f.Compression == artifact.None {
		f.content, f.ContentBytes = f.download, f.DownloadBytes
		path = r.claim.DownloadPath()
	}
	file, err := os.Open(path)
	if err != nil {
		return facts{}, artifact.WrapError(artifact.StoreFailed, "opening the content", err)
	}
	f.memory, err = r.inspect(ctx, file, f.memory)
	return f, errors.Join(err, file.Close())
}

func (r *run) inspectOptions() inspect.Options {
	return inspect.Options{Declared: r.spec.Format, Hypervisor: r.spec.Hypervisor, MaxVirtualSizeBytes: r.spec.Limits.MaxVirtualSizeBytes}
}

// inspect looks into content and refuses what is unfit.
func (r *run) inspect(ctx context.Context, content *os.File, m memory) (memory, error) {
	r.meter.enter(Inspecting)
	m.Inspected = r.inspectOptions()
	var err error
	if m.Report, err = inspect.Inspect(ctx, content, m.ContentBytes, m.Inspected); err != nil {
		if ctx.Err() != nil {
			return m, artifact.WrapError(artifact.Canceled, "inspecting the content", context.Cause(ctx))
		}
		return m, fmt.Errorf("inspecting the content: %w", err)
	}
	return m, m.Report.Err()
}

// keep makes partial files blobs. The record is first: should the process die in between, it is worth nothing without
// its content, and everything with it.
func (r *run) keep(f facts) error {
	if err := r.memorize(f); err != nil {
		return err
	}
	if f.Compression != artifact.None {
		if err := r.claim.CommitContent(f.content, f.ContentBytes); err != nil {
			return err
		}
	}
	if err := r.claim.CommitDownload(f.download, f.DownloadBytes); err != nil {
		return err
	}
	if f.Compression == artifact.None {
		return nil
	}
	return r.importer.opts.Store.Demote(f.download)
}
