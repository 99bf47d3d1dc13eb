package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// Goals, on two processors.
const (
	goalPeak  = 100 // MiB
	goalChain = 3.4
)

// input is a file that a benchmark decodes.
type input struct {
	name       string
	path       string
	size       int64 // decompressed
	compressed int64
	goals      map[string]string // by the name of a tool
}

func (in input) goal(tool string) string { return in.goals[tool] }

// kind is how an input is made of so many bytes of content.
type kind struct {
	name    string
	content func(mib int) int64
	goals   map[string]string
}

func kinds() []kind {
	return []kind{
		{"disk.qcow2", func(mib int) int64 { return int64(mib) << 20 }, map[string]string{"lbzip2 -n2": "1.2, better 1.4"}},
		{"machine.ova", func(mib int) int64 { return int64(mib) << 20 * 5 / 2 }, map[string]string{"lbzip2 -n2": "1.45, better 1.5"}},
		{"zeros.raw", func(mib int) int64 { return int64(mib) << 20 * 10 }, nil},
	}
}

// makeInput makes an input unless it is there, in a process of its own: what this one held would count as memory of those that it
// starts.
func (b *bench) makeInput(ctx context.Context, k kind) (input, error) {
	in := input{name: k.name, goals: k.goals, path: filepath.Join(b.dir, fmt.Sprintf("%d-%s.bz2", b.size, k.name))}
	if err := os.MkdirAll(b.dir, 0o755); err != nil {
		return in, err
	}
	note := in.path + ".json"
	if _, err := os.Stat(note); err != nil {
		fmt.Fprintf(b.out, "making %s\n", k.name)
		if _, err := measure(ctx, self("make", k.name, fmt.Sprint(k.content(b.size)), in.path, note), nil); err != nil {
			return in, err
		}
	}
	data, err := os.ReadFile(note)
	if err != nil {
		return in, err
	}
	var sizes [2]int64
	if err := json.Unmarshal(data, &sizes); err != nil {
		return in, fmt.Errorf("reading %s: %w", note, err)
	}
	in.size, in.compressed = sizes[0], sizes[1]
	return in, nil
}
