package store

import (
	"time"

	"k8s.io/utils/clock"
)

// Defaults of Options.
const (
	DefaultMinFreeBytes int64 = 512 << 20
	DefaultMinAge             = 15 * time.Minute
	DefaultPartialAge         = 7 * 24 * time.Hour
)

// Options bounds a Store. The zero value has the defaults and no size bound.
type Options struct {
	// MaxBytes is what Collect brings the blobs down to, leased and young ones excepted; 0 means no bound.
	MaxBytes int64
	// MinFreeBytes stays free on the disk: no write is begun or gone on with below it; 0 means 512 MiB, a negative number none.
	MinFreeBytes int64
	// MinAge protects blobs that were used so lately; 0 means 15 min, a negative number no protection.
	MinAge time.Duration
	// PartialAge is how long leftovers of an import wait to be resumed; 0 means 7 days.
	PartialAge time.Duration
	// Clock is for tests; nil means the wall clock.
	Clock clock.PassiveClock
	// FreeBytes tells how much room the disk has for us; for tests, nil asks the file system.
	FreeBytes func(dir string) (int64, error)
}
