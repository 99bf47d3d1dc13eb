package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/capcat/capcat/test/workload"
)

// What can run in the machines.
const (
	guestsNone   = "none"
	guestsMemory = "inmemory"
)

func tiers() []string { return []string{guestsNone, guestsMemory} }

// world builds what runs in the machines; nil for empty boxes.
func (o settings) world(_ context.Context) (*workload.World, error) {
	w := workload.Options{Boot: o.boot, Grace: o.grace, KeepNodes: o.keepNodes}
	switch o.guests {
	case guestsNone:
		return nil, nil //nolint:nilnil // there is no world then
	case guestsMemory:
	default:
		return nil, fmt.Errorf("unknown guests %q, known are %s", o.guests, strings.Join(tiers(), ", "))
	}
	world, err := workload.New(w)
	if err != nil {
		return nil, fmt.Errorf("preparing what runs in the machines: %w", err)
	}
	return world, nil
}
