package main

import (
	"fmt"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/capcat/capcat/imagecatalog/importer"
	"github.com/capcat/capcat/imagecatalog/serve"
)

// pipelineMetrics counts what goes through the pipeline.
type pipelineMetrics struct {
	imports       *prometheus.CounterVec
	importBytes   prometheus.Counter
	importSeconds prometheus.Histogram
	requests      *prometheus.CounterVec
	servedBytes   prometheus.Counter
}

func newPipelineMetrics(r prometheus.Registerer) (*pipelineMetrics, error) {
	m := &pipelineMetrics{
		imports: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "capcat_imports_total", Help: "Ended imports by result: ok, reused, or the code of the failure.",
		}, []string{"result"}),
		importBytes: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "capcat_import_bytes_total", Help: "Bytes of the images that were downloaded, as downloaded.",
		}),
		importSeconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "capcat_import_duration_seconds", Help: "Time of imports that transferred something, from the request to the verified image.",
			Buckets: prometheus.ExponentialBuckets(1, 2, 14),
		}),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "capcat_serve_requests_total", Help: "Requests to the image server by HTTP status.",
		}, []string{"status"}),
		servedBytes: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "capcat_serve_bytes_total", Help: "Bytes of images that the image server sent.",
		}),
	}
	for _, c := range []prometheus.Collector{m.imports, m.importBytes, m.importSeconds, m.requests, m.servedBytes} {
		if err := r.Register(c); err != nil {
			return nil, fmt.Errorf("registering the metrics of the pipeline: %w", err)
		}
	}
	return m, nil
}

func (m *pipelineMetrics) imported(d importer.Done) {
	switch {
	case d.Err != nil && d.Code == "":
		m.imports.WithLabelValues("Unknown").Inc()
	case d.Err != nil:
		m.imports.WithLabelValues(string(d.Code)).Inc()
	case d.Reused:
		m.imports.WithLabelValues("reused").Inc()
		return
	default:
		m.imports.WithLabelValues("ok").Inc()
		m.importBytes.Add(float64(d.DownloadBytes))
	}
	m.importSeconds.Observe(d.Duration.Seconds())
}

func (m *pipelineMetrics) served(s serve.Served) {
	m.requests.WithLabelValues(strconv.Itoa(s.Status)).Inc()
	m.servedBytes.Add(float64(s.Bytes))
}
