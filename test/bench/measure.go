package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"syscall"
	"time"
)

// sample is what one run of a process took.
type sample struct {
	wall, cpu time.Duration
	peak      int64 // bytes resident at most
}

// measure runs a command, its output thrown away unless out is set.
func measure(ctx context.Context, command []string, out io.Writer) (sample, error) {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Stderr = os.Stderr
	cmd.Stdout = out
	start := time.Now()
	if err := cmd.Run(); err != nil {
		return sample{}, fmt.Errorf("running %v: %w", command, err)
	}
	s := sample{wall: time.Since(start), cpu: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()}
	if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		s.peak = usage.Maxrss
		if runtime.GOOS != "darwin" {
			s.peak <<= 10 // elsewhere it is counted in KiB
		}
	}
	return s, nil
}

// figure is a number that was measured several times.
type figure struct{ median, least, most float64 }

func figureOf(values []float64) figure {
	v := slices.Clone(values)
	slices.Sort(v)
	middle := v[len(v)/2]
	if len(v)%2 == 0 {
		middle = (middle + v[len(v)/2-1]) / 2
	}
	return figure{middle, v[0], v[len(v)-1]}
}

func (f figure) String() string { return fmt.Sprintf("%.2f [%.2f-%.2f]", f.median, f.least, f.most) }

// series is the samples of one contestant, round by round.
type series struct {
	name    string
	samples []sample
}

func (s series) figure(of func(sample) float64) figure {
	var values []float64
	for _, x := range s.samples {
		values = append(values, of(x))
	}
	return figureOf(values)
}

// times is how many times as long the other one took, in each round.
func (s series) times(other series, of func(sample) float64) figure {
	var values []float64
	for i := range s.samples {
		values = append(values, of(other.samples[i])/of(s.samples[i]))
	}
	return figureOf(values)
}

// amount is a number of bytes for people.
func amount(n int64) string {
	if n < 1e6 {
		return fmt.Sprintf("%.1f kB", float64(n)/1e3)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1e6)
}

func wall(s sample) float64 { return s.wall.Seconds() }
func cpu(s sample) float64  { return s.cpu.Seconds() }
func peak(s sample) float64 { return float64(s.peak) / (1 << 20) }
