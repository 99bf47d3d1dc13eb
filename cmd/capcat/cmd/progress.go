package cmd

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"
	"k8s.io/utils/clock"
)

const (
	barWidth  = 30
	barPeriod = 200 * time.Millisecond
)

// progress is a bar on a terminal; anywhere else it is silent. It is safe for concurrent use.
type progress struct {
	out   io.Writer
	clock clock.PassiveClock

	mu    sync.Mutex
	phase string
	since time.Time
	last  time.Time
	shown bool
}

// newProgress draws on w when that is a terminal.
func newProgress(w io.Writer) *progress {
	p := &progress{clock: clock.RealClock{}}
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		p.out = w
	}
	return p
}

// at shows how far a phase is; total 0 means unknown.
func (p *progress) at(phase string, done, total int64) {
	if p.out == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.clock.Now()
	if phase != p.phase {
		p.phase, p.since, p.last = phase, now, time.Time{}
	}
	if now.Sub(p.last) < barPeriod && done != total {
		return
	}
	p.last, p.shown = now, true
	speed := 0.0
	if seconds := now.Sub(p.since).Seconds(); seconds > 0 {
		speed = float64(done) / seconds / 1e6
	}
	if total <= 0 {
		fmt.Fprintf(p.out, "\r\x1b[K%s %.1f MB  %.1f MB/s", phase, float64(done)/1e6, speed)
		return
	}
	full := int(min(done, total) * barWidth / total)
	fmt.Fprintf(p.out, "\r\x1b[K%s [%s%s] %3d %%  %.1f MB/s", phase, strings.Repeat("=", full), strings.Repeat(" ", barWidth-full), min(done, total)*100/total, speed)
}

// done removes the bar.
func (p *progress) done() {
	if p.out == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shown {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
	p.shown = false
}

// meter counts what is read from a file of known size.
type meter struct {
	r     io.Reader
	n     int64
	total int64
	bar   *progress
}

func (m *meter) Read(p []byte) (int, error) {
	n, err := m.r.Read(p)
	m.n += int64(n)
	m.bar.at("reading", m.n, m.total)
	return n, err
}
