package main

import (
	"fmt"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/capcat/capcat/imagecatalog/serve"
)

// serveMetrics counts what the image server does.
type serveMetrics struct {
	requests *prometheus.CounterVec
	bytes    prometheus.Counter
}

func newServeMetrics(r prometheus.Registerer) (*serveMetrics, error) {
	m := &serveMetrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "capcat_serve_requests_total", Help: "Requests to the image server by HTTP status.",
		}, []string{"status"}),
		bytes: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "capcat_serve_bytes_total", Help: "Bytes of images that the image server sent.",
		}),
	}
	for _, c := range []prometheus.Collector{m.requests, m.bytes} {
		if err := r.Register(c); err != nil {
			return nil, fmt.Errorf("registering the metrics of the image server: %w", err)
		}
	}
	return m, nil
}

func (m *serveMetrics) served(s serve.Served) {
	m.requests.WithLabelValues(strconv.Itoa(s.Status)).Inc()
	m.bytes.Add(float64(s.Bytes))
}
