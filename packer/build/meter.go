package build

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/capcat/capcat/imagecatalog/artifact/convert"
)

// meterInterval is how often a long conversion says how far it is.
const meterInterval = 15 * time.Second

// meter tells how far a conversion is, now and then.
type meter struct {
	report func(Event)
	clock  clock.PassiveClock

	mu   sync.Mutex
	told time.Time
}

func newMeter(report func(Event), c clock.PassiveClock) *meter {
	return &meter{report: report, clock: c, told: c.Now()}
}

// at is a convert.Progress.
func (m *meter) at(phase convert.Phase, done, total int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if total <= 0 || m.clock.Since(m.told) < meterInterval {
		return
	}
	m.told = m.clock.Now()
	m.report(Event{Note: fmt.Sprintf("%s: %d %%", strings.ToLower(string(phase)), done*100/total)})
}
