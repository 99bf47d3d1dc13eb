package stage

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"time"

	"golang.org/x/time/rate"
)

// MirrorHost is the name of the mirror in catalogs. It exists nowhere: the manager finds it because the mirror also answers as its
// proxy, the simulator by --resolve.
const MirrorHost = "images.example.org"

const burst = 256 << 10

// Mirror serves a folder over plain HTTP, whatever host it is asked for.
type Mirror struct {
	// Addr is where it listens, as host:port.
	Addr   string
	server *http.Server
}

// StartMirror serves the folder. A rate above 0 slows each reply down to that many bytes a second, so that there is progress to see.
func StartMirror(dir string, bytesPerSecond int) (*Mirror, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("starting the image mirror: %w", err)
	}
	h := http.FileServer(http.Dir(dir))
	if bytesPerSecond > 0 {
		h = slowly(h, bytesPerSecond)
	}
	m := &Mirror{Addr: l.Addr().String(), server: &http.Server{Handler: h, ReadHeaderTimeout: time.Minute}}
	go func() { _ = m.server.Serve(l) }() // it ends with Stop
	return m, nil
}

// Stop breaks off what is being sent.
func (m *Mirror) Stop() error { return m.server.Close() }

// slowly bounds the rate of each reply.
func slowly(h http.Handler, bytesPerSecond int) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		limit := rate.NewLimiter(rate.Limit(bytesPerSecond), burst)
		h.ServeHTTP(&slowWriter{ResponseWriter: w, ctx: r.Context(), limit: limit}, r)
	})
}

// slowWriter hides the ReaderFrom of the writer below, which would pass the limit by.
type slowWriter struct {
	http.ResponseWriter
	ctx   context.Context
	limit *rate.Limiter
}

func (w *slowWriter) Write(b []byte) (written int, err error) {
	for len(b) > 0 {
		n := min(len(b), burst)
		if err := w.limit.WaitN(w.ctx, n); err != nil {
			return written, err
		}
		n, err = w.ResponseWriter.Write(b[:n])
		written += n
		if err != nil {
			return written, err
		}
		b = b[n:]
	}
	return written, nil
}
