package secondarystorage

import (
	"context"
	"errors"
	"net/http"
)

// Engine is one storage VM: it downloads, receives uploads and keeps the store.
type Engine struct{ options Options }

// New returns an Engine. It fails when the store's directory cannot be made.
func New(o Options) (*Engine, error) { return &Engine{options: o}, nil }

// Close stops all downloads and removes a directory that New made.
func (e *Engine) Close() error { return nil }

// Download starts a download and returns at once. The error is what the storage VM's agent would throw before it has a job: a
// URL that it cannot read, or a scheme that it does not know. The download lives until it ends, is aborted, ctx ends or the
// Engine is closed.
func (e *Engine) Download(ctx context.Context, r DownloadRequest) (*Download, error) {
	return nil, errors.New("not there yet")
}

// Download is one download job.
type Download struct{}

// Status is what management shows: as Answer, but with PhysicalSize equal to VirtualSize when the download was ready within
// three seconds, because then management never asks again.
func (d *Download) Status() Status { return Status{} }

// Answer is what the storage VM answers at this moment.
func (d *Download) Answer() Status { return Status{} }

// Done is closed when the state cannot change any more.
func (d *Download) Done() <-chan struct{} { return nil }

// Abort breaks the download off.
func (d *Download) Abort() {}

// NewUpload signs the parameters of one upload.
func (e *Engine) NewUpload(r UploadRequest) UploadParams { return UploadParams{} }

// Sign returns the signature over the parts of an upload's parameters.
func (e *Engine) Sign(metadata, postURL, expires string) string { return "" }

// UploadStatus answers management's question about an upload. The end of an upload is told once: asked again it is unknown.
func (e *Engine) UploadStatus(id string) UploadStatus { return UploadStatus{State: UploadUnknown} }

// Receiver is the upload server itself, which nobody reaches but its front web server.
func (e *Engine) Receiver() http.Handler { return http.NotFoundHandler() }

// Front is the web server in front of the upload server, at POST /upload/<uuid>: what a client of a storage VM talks to.
func (e *Engine) Front() http.Handler { return http.NotFoundHandler() }
