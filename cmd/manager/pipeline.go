package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/capcat/capcat/imagecatalog/artifact"
	"github.com/capcat/capcat/imagecatalog/artifact/fetch"
	"github.com/capcat/capcat/imagecatalog/artifact/store"
	"github.com/capcat/capcat/imagecatalog/importer"
	"github.com/capcat/capcat/imagecatalog/serve"
)

const (
	collectEvery      = 10 * time.Minute
	signingKeyBytes   = 32
	readHeaderTimeout = 30 * time.Second
	shutdownGrace     = 5 * time.Second
)

// pipeline is everything that handles the bytes of images.
type pipeline struct {
	blobs    *store.Store
	importer *importer.Importer
	signer   *serve.Signer // nil without an image server
	handler  http.Handler
	serve    serveOptions
}

func newPipeline(o *options) (p *pipeline, err error) {
	p = &pipeline{serve: o.serve}
	if p.blobs, err = store.Open(o.pipeline.dataDir, store.Options{MaxBytes: o.pipeline.storeMaxBytes}); err != nil {
		return nil, fmt.Errorf("opening the store: %w", err)
	}
	roots, err := o.pipeline.rootCAs()
	if err != nil {
		return nil, err
	}
	fo := fetch.Options{AllowLoopback: o.pipeline.allowLoopback, RootCAs: roots}
	if o.pipeline.proxy {
		fo.Proxy = http.ProxyFromEnvironment
	}
	p.importer, err = importer.New(importer.Options{
		Store: p.blobs, Fetcher: fetch.New(fo), MaxConcurrent: o.pipeline.workers,
	})
	if err != nil {
		return nil, err
	}
	if o.serve.addr == "" {
		return p, nil
	}
	return p, p.addServer(o)
}

// addServer makes the image server.
func (p *pipeline) addServer(o *options) error {
	counts, err := newServeMetrics(metrics.Registry)
	if err != nil {
		return err
	}
	key, err := signingKey(filepath.Join(o.pipeline.dataDir, "serve.key"))
	if err != nil {
		return err
	}
	if p.signer, err = serve.NewSigner(key); err != nil {
		return err
	}
	p.handler = serve.New(p.blobs, p.signer, serve.Options{MaxConnections: o.serve.maxConnections, Served: counts.served})
	return nil
}

// signingKey reads the key of the image server's URLs, and makes it on the first start: a URL that CloudStack was given before a
// restart must work after it.
func signingKey(path string) ([]byte, error) {
	key, err := os.ReadFile(path)
	if err == nil && len(key) == signingKeyBytes {
		return key, nil
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("reading the key of the image server: %w", err)
	}
	key = make([]byte, signingKeyBytes)
	if _, err := rand.Read(key); err != nil {
		return nil, fmt.Errorf("making the key of the image server: %w", err)
	}
	partial := path + ".partial"
	if err := os.WriteFile(partial, key, 0o600); err != nil {
		return nil, fmt.Errorf("writing the key of the image server: %w", err)
	}
	if err := os.Rename(partial, path); err != nil {
		return nil, fmt.Errorf("writing the key of the image server: %w", err)
	}
	return key, nil
}

// serveURL is nil when CloudStack cannot reach the image server.
func (p *pipeline) serveURL() func(artifact.Digest, string, time.Time) (string, error) {
	if p.signer == nil || p.serve.externalURL == "" {
		return nil
	}
	return func(d artifact.Digest, suffix string, expires time.Time) (string, error) {
		return p.signer.URL(p.serve.externalURL, d, suffix, expires)
	}
}

// publicHost is nil when the addresses of a host decide.
func (p pipelineOptions) publicHost() func(context.Context, string) bool {
	if len(p.pullHosts) == 0 {
		return nil
	}
	return func(_ context.Context, host string) bool {
		return slices.ContainsFunc(p.pullHosts, func(allowed string) bool {
			return strings.EqualFold(host, allowed) || strings.HasPrefix(allowed, ".") && strings.HasSuffix(strings.ToLower(host), strings.ToLower(allowed))
		})
	}
}

// addTo has the manager run what the pipeline needs: the collector of unused blobs and the image server.
func (p *pipeline) addTo(mgr ctrl.Manager) error {
	if err := mgr.Add(manager.RunnableFunc(p.collect)); err != nil {
		return err
	}
	if p.handler == nil {
		return nil
	}
	// Listening here makes a wrong address an error at the start.
	l, err := net.Listen("tcp", p.serve.addr)
	if err != nil {
		return fmt.Errorf("listening for the image server: %w", err)
	}
	return mgr.Add(manager.RunnableFunc(func(ctx context.Context) error { return p.run(ctx, l) }))
}

func (p *pipeline) collect(ctx context.Context) error {
	log := ctrl.LoggerFrom(ctx).WithName("store")
	tick := time.NewTicker(collectEvery)
	defer tick.Stop()
	for {
		switch got, err := p.blobs.Collect(ctx); {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			log.Error(err, "Failed to prune the store")
		case got.Blobs+got.Leftovers > 0:
			log.Info("Pruned the store", "blobs", got.Blobs, "bytes", got.Bytes, "leftovers", got.Leftovers)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// run serves images until the context ends. Transfers that are under way then get a moment to end.
func (p *pipeline) run(ctx context.Context, l net.Listener) error {
	server := &http.Server{Handler: p.handler, ReadHeaderTimeout: readHeaderTimeout}
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		<-ctx.Done()
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownGrace)
		defer cancel()
		if server.Shutdown(grace) != nil {
			_ = server.Close()
		}
	}()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving images: %w", err)
	}
	<-stopped
	return nil
}
