package importer

import (
	"time"

	"k8s.io/utils/clock"
)

const (
	meterPause  = 250 * time.Millisecond
	meterWindow = 5 * time.Second
)

// meter turns byte counts into a few reports a second, with the speed of the last seconds.
type meter struct {
	clock   clock.PassiveClock
	report  func(Progress)
	last    Progress
	told    time.Time
	samples []sample
}

type sample struct {
	at    time.Time
	bytes int64
}

func newMeter(c clock.PassiveClock, report func(Progress)) *meter {
	return &meter{clock: c, report: report}
}

// enter begins a phase, and reports it at once.
func (m *meter) enter(phase Phase) {
	m.last.Phase = phase
	m.last.BytesPerSecond = 0
	m.tell(m.clock.Now())
}

// count takes the bytes downloaded so far.
func (m *meter) count(done, total int64) {
	now := m.clock.Now()
	m.last.Bytes, m.last.TotalBytes = done, total
	complete := total > 0 && done == total
	if !complete && now.Sub(m.told) < meterPause {
		return
	}
	m.samples = append(m.samples, sample{now, done})
	for len(m.samples) > 1 && (now.Sub(m.samples[0].at) > meterWindow || m.samples[0].bytes > done) {
		m.samples = m.samples[1:]
	}
	m.last.BytesPerSecond = 0
	if took := now.Sub(m.samples[0].at); took > 0 {
		m.last.BytesPerSecond = int64(float64(done-m.samples[0].bytes) / took.Seconds())
	}
	if complete {
		m.last.Phase = Verifying
	} else {
		m.last.Phase = Fetching
	}
	m.tell(now)
}

func (m *meter) tell(now time.Time) {
	m.told = now
	m.report(m.last)
}
