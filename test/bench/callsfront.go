package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"
	"time"
)

const (
	// deployEach is the least that a deployment takes a real CloudStack, which makes one after another.
	deployEach = 650 * time.Millisecond
	// pacedMost is the largest crew for which the simulator takes as long: with more of them one waits for nothing but that.
	pacedMost = 100
	// maxForm is more than any call has.
	maxForm = 2 << 20
)

// front stands before a simulator and takes deployments one after another, as a real CloudStack does.
type front struct {
	next http.Handler

	mu sync.Mutex
	// free is when the next deployment may begin.
	free time.Time
}

// turn gives the time until a deployment that comes now is through. What the machine of the bench is late by does not add up, so
// that two clients that keep the server busy wait equally long, whatever else the machine has to do.
func (f *front) turn(now time.Time) time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.free.Before(now) {
		f.free = now
	}
	f.free = f.free.Add(deployEach)
	return f.free.Sub(now)
}

func (f *front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxForm))
	if err != nil {
		http.Error(w, "cannot read the call", http.StatusBadRequest)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	if commandOf(r.URL.RawQuery) == "deployVirtualMachine" || commandOf(string(body)) == "deployVirtualMachine" {
		if err := pause(r.Context(), f.turn(time.Now())); err != nil {
			return // who asked has gone
		}
	}
	f.next.ServeHTTP(w, r)
}

func commandOf(form string) string {
	values, err := url.ParseQuery(form)
	if err != nil {
		return ""
	}
	return values.Get("command")
}

// pace puts a front before the API of a simulator, and returns its URL and what ends it.
func pace(ctx context.Context, api string) (string, func() error, error) {
	target, err := url.Parse(api)
	if err != nil {
		return "", nil, fmt.Errorf("reading the URL of the simulator: %w", err)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	path := target.Path
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: target.Scheme, Host: target.Host})
	server := &http.Server{Handler: &front{next: proxy}, ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(listener) }() // it ends with the server
	return "http://" + listener.Addr().String() + path, server.Close, nil
}
