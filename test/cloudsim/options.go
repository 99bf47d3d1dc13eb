package cloudsim

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"
)

// Presets that a server can be seeded with.
const (
	// PresetRecorded is what the server had that the transcripts were recorded from, with its simulated storage.
	PresetRecorded = "recorded"
	// PresetRecordedNetSG is PresetRecorded with the callers user, user2 and user3 in domain ROOT/netsg.
	PresetRecordedNetSG = "recorded-netsg"
	// PresetDemo has a KVM, a VMware and a XenServer zone and real storage.
	PresetDemo = "demo"
	// PresetLoopback is PresetDemo with public and shared addresses on the loopback interface and larger limits, so that what runs in
	// the machines can be reached, see Options.Guests.
	PresetLoopback = "loopback"
	// PresetEmpty has the built-in rows of a new installation and no zone.
	PresetEmpty = "empty"
)

// Presets lists the known presets.
func Presets() []string {
	return []string{PresetRecorded, PresetRecordedNetSG, PresetDemo, PresetLoopback, PresetEmpty}
}

// Options say what server to build. The zero value is the demo preset of the newest release on the wall clock.
type Options struct {
	// Preset is one of Presets(); empty means demo.
	Preset string
	// Version is the release to answer as: 4.19, 4.20, 4.21 or 4.22 (the default).
	Version string
	// Clock is the server's time; nil means the wall clock. Time-dependent things happen when the server is next looked at.
	Clock clock.PassiveClock
	// Seed makes ids and keys; equal seeds give equal ones.
	Seed uint64
	// Resolve gives names that count as public hosts and are dialled at the given address (host or host:port).
	Resolve map[string]string
	// UploadAddress is where the upload endpoint listens, as host:port; empty means a free port of the loopback address.
	UploadAddress string
	// StorageDir is where secondary storage keeps its files; empty means a temporary directory, removed by Close.
	StorageDir string
	// JobTime overrides how long the job of a command takes; nil means the times of a small installation.
	JobTime func(command string) time.Duration
	// Guests run in the machines; nil means that machines are empty boxes. With guests the server listens on its public addresses, as
	// far as they are addresses of this host, and moves on by itself unless its clock is one that is stepped.
	Guests Guests
	// Loopback is the /16 of 127.0.0.0/8 that PresetLoopback takes its addresses from; the zero prefix means the first that no other
	// server has.
	Loopback netip.Prefix
	// Log receives what an operator would read; the zero value discards it.
	Log logr.Logger
}

// releases are the full version strings by short name.
func releases() map[string]string {
	return map[string]string{"4.19": "4.19.3.0", "4.20": "4.20.1.0", "4.21": "4.21.0.0", "4.22": "4.22.0.0-SNAPSHOT"}
}

func (o *Options) complete() error {
	if o.Preset == "" {
		o.Preset = PresetDemo
	}
	if o.Version == "" {
		o.Version = "4.22"
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.Log.IsZero() {
		o.Log = logr.Discard()
	}
	if !slices.Contains(Presets(), o.Preset) {
		return fmt.Errorf("unknown preset %q, known are %s", o.Preset, strings.Join(Presets(), ", "))
	}
	if _, ok := releases()[o.Version]; !ok {
		return fmt.Errorf("unknown version %q, known are 4.19, 4.20, 4.21, 4.22", o.Version)
	}
	for name, addr := range o.Resolve {
		if name == "" || !resolvable(addr) {
			return fmt.Errorf("cannot resolve %q to %q: want NAME=ADDRESS or NAME=ADDRESS:PORT", name, addr)
		}
	}
	return nil
}

func resolvable(addr string) bool {
	if _, err := netip.ParseAddr(addr); err == nil {
		return true
	}
	host, port, err := net.SplitHostPort(addr)
	return err == nil && host != "" && port != ""
}
