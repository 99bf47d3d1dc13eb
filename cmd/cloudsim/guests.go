package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/capcat/capcat/test/workload"
)

// What can run in the machines.
const (
	guestsNone   = "none"
	guestsMemory = "inmemory"
	guestsReal   = "real"
)

func tiers() []string { return []string{guestsNone, guestsMemory, guestsReal} }

// world builds what runs in the machines; nil for empty boxes.
func (o settings) world(ctx context.Context) (*workload.World, error) {
	w := workload.Options{Boot: o.boot, Grace: o.grace, KeepNodes: o.keepNodes}
	switch o.guests {
	case guestsNone:
		return nil, nil //nolint:nilnil // there is no world then
	case guestsMemory:
	case guestsReal:
		tier, err := workload.Real(ctx, "", w.Log, os.Stderr)
		if err != nil {
			return nil, err
		}
		w.Tier = tier
	default:
		return nil, fmt.Errorf("unknown guests %q, known are %s", o.guests, strings.Join(tiers(), ", "))
	}
	world, err := workload.New(w)
	if err != nil {
		return nil, fmt.Errorf("preparing what runs in the machines: %w", err)
	}
	return world, nil
}
