package secondarystorage

import "net/http"

// UploadStatus answers management's question about an upload. The end of an upload is told once: asked again it is unknown.
func (e *Engine) UploadStatus(id string) UploadStatus { return UploadStatus{State: UploadUnknown} }

// Sign returns the signature over the parts of an upload's parameters.
func (e *Engine) Sign(metadata, postURL, expires string) string { return "" }

// NewUpload signs the parameters of one upload.
func (e *Engine) NewUpload(r UploadRequest) UploadParams { return UploadParams{} }

// Receiver is the upload server itself, which nobody reaches but its front web server.
func (e *Engine) Receiver() http.Handler { return http.NotFoundHandler() }

// Front is the web server in front of the upload server, at POST /upload/<uuid>: what a client of a storage VM talks to.
func (e *Engine) Front() http.Handler { return http.NotFoundHandler() }

type upload struct{}
