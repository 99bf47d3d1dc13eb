package serve

import (
	"context"
	"errors"
	"io"
	"net/http"
	"path"
	"strconv"
	"time"

	"github.com/capcat/capcat/imagecatalog/artifact/store"
	"k8s.io/utils/clock"
)

// chunkBytes is what a client gets one WriteTimeout for.
const chunkBytes = 1 << 20

// Handler serves [/<base>]/<token>/<digest>.<suffix> with GET and HEAD, and nothing else. It answers the whole blob with an exact
// Content-Length, offers no ranges and ignores Range: a storage VM that resumes writes to the wrong place.
//
// 403 means a token that does not fit the name, 410 an expired one, 404 a blob that is not there any more, 405 another
// method, 503 that too many are being served. What stands before the token does not matter.
type Handler struct {
	blobs  *store.Store
	signer *Signer
	opts   Options
	slots  chan struct{}
}

// New makes a Handler. The server around it needs a ReadHeaderTimeout and no WriteTimeout.
func New(blobs *store.Store, signer *Signer, o Options) *Handler {
	if o.MaxConnections <= 0 {
		o.MaxConnections = DefaultMaxConnections
	}
	if o.QueueTimeout <= 0 {
		o.QueueTimeout = DefaultQueueTimeout
	}
	if o.WriteTimeout <= 0 {
		o.WriteTimeout = DefaultWriteTimeout
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	return &Handler{blobs: blobs, signer: signer, opts: o, slots: make(chan struct{}, o.MaxConnections)}
}

// ServeHTTP answers one request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	start := h.opts.Clock.Now()
	h.extend(w)
	served := Served{Method: req.Method}
	h.answer(w, req, &served)
	served.Duration = h.opts.Clock.Since(start)
	if h.opts.Served != nil {
		h.opts.Served(served)
	}
}

func (h *Handler) answer(w http.ResponseWriter, req *http.Request, s *Served) {
	if req.Method != http.MethodGet && req.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		refuse(w, s, http.StatusMethodNotAllowed)
		return
	}
	base, name := path.Split(req.URL.Path)
	token := path.Base(base)
	d, err := h.signer.verify(token, name, h.opts.Clock.Now())
	if err != nil {
		refuse(w, s, tokenStatus(err))
		return
	}
	s.Digest = d
	blob, err := h.blobs.Open(d)
	if errors.Is(err, store.ErrNotFound) {
		refuse(w, s, http.StatusNotFound)
		return
	}
	if err != nil {
		refuse(w, s, http.StatusInternalServerError)
		return
	}
	defer blob.Close()
	if req.Method == http.MethodHead {
		writeHeader(w, s, blob.Size())
		return
	}
	if !h.enter(req.Context()) {
		w.Header().Set("Retry-After", strconv.Itoa(int(h.opts.QueueTimeout/time.Second)))
		refuse(w, s, http.StatusServiceUnavailable)
		return
	}
	defer func() { <-h.slots }()
	writeHeader(w, s, blob.Size())
	h.send(w, blob, s)
}

// enter waits for a turn, not for ever.
func (h *Handler) enter(ctx context.Context) bool {
	select {
	case h.slots <- struct{}{}:
		return true
	default:
	}
	timer := h.opts.Clock.NewTimer(h.opts.QueueTimeout)
	defer timer.Stop()
	select {
	case h.slots <- struct{}{}:
		return true
	case <-timer.C():
		return false
	case <-ctx.Done():
		return false
	}
}

func writeHeader(w http.ResponseWriter, s *Served, size int64) {
	head := w.Header()
	head.Set("Content-Type", "application/octet-stream")
	head.Set("Content-Length", strconv.FormatInt(size, 10))
	head.Set("Cache-Control", "private, no-transform")
	head.Set("X-Content-Type-Options", "nosniff")
	s.Status = http.StatusOK
	w.WriteHeader(http.StatusOK)
}

// send writes chunk by chunk, each against its own deadline, so that neither a slow client is cut nor a dead one held.
func (h *Handler) send(w http.ResponseWriter, blob *store.Blob, s *Served) {
	for s.Bytes < blob.Size() {
		h.extend(w)
		n, err := io.CopyN(w, blob.File, min(chunkBytes, blob.Size()-s.Bytes))
		s.Bytes += n
		if err != nil {
			return
		}
	}
	s.Complete = true
	h.extend(w)
}

// extend gives the client another WriteTimeout. A writer that knows no deadlines still has the server's own timeouts.
func (h *Handler) extend(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(h.opts.WriteTimeout))
}

func refuse(w http.ResponseWriter, s *Served, status int) {
	s.Status = status
	http.Error(w, http.StatusText(status), status)
}

func tokenStatus(err error) int {
	if errors.Is(err, errExpired) {
		return http.StatusGone
	}
	return http.StatusForbidden
}
