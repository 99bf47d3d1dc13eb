package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/time/rate"
)

const (
	// mirrorHost is the name that the sample catalogs use.
	mirrorHost = "images.example.org"
	// mirrorRate slows each download down, in bytes a second, so that there is progress to see.
	mirrorRate  = 2 << 20
	mirrorBurst = 256 << 10
)

// mirror serves a folder over plain HTTP. As it ignores the host that it is asked for, it also answers as the proxy through which
// the manager finds the name of the sample catalogs.
type mirror struct {
	addr   string
	server *http.Server
}

func (d *demo) startMirror(context.Context) (string, error) {
	dir := filepath.Join(d.dir, "images")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	all := files([]string{"v1.33.1", "v1.34.2"})
	total, err := makeImages(dir, all)
	if err != nil {
		return "", err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	d.mirror = &mirror{addr: l.Addr().String(), server: &http.Server{Handler: slowly(http.FileServer(http.Dir(dir))), ReadHeaderTimeout: time.Minute}}
	d.onStop(d.mirror.server.Close)
	go func() {
		if err := d.mirror.server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			fmt.Fprintln(d.out, "the image mirror ended:", err)
		}
	}()
	return fmt.Sprintf("%d files of %.1f MiB together at http://%s", len(all), float64(total)/(1<<20), d.mirror.addr), nil
}

// slowly bounds the rate of each reply.
func slowly(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.ServeHTTP(&slowWriter{ResponseWriter: w, ctx: r.Context(), limit: rate.NewLimiter(mirrorRate, mirrorBurst)}, r)
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
		n := min(len(b), mirrorBurst)
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
