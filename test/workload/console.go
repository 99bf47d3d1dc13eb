package workload

import (
	"fmt"
	"strings"
	"sync"
	"time"
)

// maxConsole bounds what is kept of a console, in lines.
const maxConsole = 2000

// console is what a machine has printed.
type console struct {
	mu      sync.Mutex
	started time.Time
	lines   []string
}

func (c *console) boot(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.started = now
}

func (c *console) print(now time.Time, format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for line := range strings.SplitSeq(fmt.Sprintf(format, args...), "\n") {
		c.lines = append(c.lines, fmt.Sprintf("[%10.3f] %s", now.Sub(c.started).Seconds(), line))
	}
	if over := len(c.lines) - maxConsole; over > 0 {
		c.lines = c.lines[over:]
	}
}

func (c *console) text() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return strings.Join(c.lines, "\n") + "\n"
}
