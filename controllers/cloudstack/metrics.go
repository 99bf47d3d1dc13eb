package cloudstack

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// callMetrics counts the API calls of every session.
type callMetrics struct {
	calls    *prometheus.CounterVec
	duration *prometheus.HistogramVec
}

func newCallMetrics(r prometheus.Registerer) (*callMetrics, error) {
	m := &callMetrics{
		calls: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "capcat_cloudstack_api_calls_total",
			Help: "Calls to the CloudStack API by command and result: ok or the kind of failure.",
		}, []string{"command", "result"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "capcat_cloudstack_api_call_duration_seconds",
			Help:    "Time from sending a call to its complete reply, by command.",
			Buckets: []float64{0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60},
		}, []string{"command"}),
	}
	if r == nil {
		return m, nil
	}
	for _, c := range []prometheus.Collector{m.calls, m.duration} {
		if err := r.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func (m *callMetrics) link(next link) link {
	return func(ctx context.Context, r request) (reply, error) {
		start := time.Now()
		out, err := next(ctx, r)
		result := "ok"
		if err != nil {
			result = string(KindOf(err))
		}
		m.calls.WithLabelValues(r.command, result).Inc()
		m.duration.WithLabelValues(r.command).Observe(time.Since(start).Seconds())
		return out, err
	}
}
