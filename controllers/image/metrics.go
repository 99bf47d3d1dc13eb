package image

import (
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/imagecatalog/artifact"
	"github.com/capcat/capcat/imagecatalog/importer"
)

// metrics counts what happens to images.
type metrics struct {
	bytes    *prometheus.CounterVec
	duration *prometheus.HistogramVec
	failures *prometheus.CounterVec
}

func newMetrics(r prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		bytes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "capcat_image_bytes_total",
			Help: "Bytes of images that were imported, as downloaded and as decompressed.",
		}, []string{"kind"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "capcat_image_duration_seconds",
			Help:    "Time that a stage of an image took: import, upload, and total from the creation of the object to ready.",
			Buckets: prometheus.ExponentialBuckets(1, 2, 16),
		}, []string{"stage"}),
		failures: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "capcat_image_failures_total",
			Help: "Failed imports and deliveries by reason.",
		}, []string{"reason"}),
	}
	if r == nil {
		return m, nil
	}
	for _, c := range []prometheus.Collector{m.bytes, m.duration, m.failures} {
		if err := r.Register(c); err != nil {
			return nil, fmt.Errorf("registering the metrics of images: %w", err)
		}
	}
	return m, nil
}

func (m *metrics) imported(result importer.Result, err error, took time.Duration) {
	m.duration.WithLabelValues("import").Observe(took.Seconds())
	if err != nil {
		m.failed(importReason(artifact.CodeOf(err)))
		return
	}
	m.bytes.WithLabelValues("download").Add(float64(result.DownloadBytes))
	m.bytes.WithLabelValues("content").Add(float64(result.ContentBytes))
}

func (m *metrics) uploaded(err error, took time.Duration) {
	m.duration.WithLabelValues("upload").Observe(took.Seconds())
	if err != nil {
		m.failed(infrav1.ReasonUploadFailed)
	}
}

func (m *metrics) ready(img *infrav1.CloudStackImage, now time.Time) {
	m.duration.WithLabelValues("total").Observe(max(0, now.Sub(img.CreationTimestamp.Time)).Seconds())
}

func (m *metrics) failed(reason string) { m.failures.WithLabelValues(reason).Inc() }
