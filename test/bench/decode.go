package main

import (
	"context"
	"fmt"
	"text/tabwriter"
)

// decode measures the decompression of one input by us and by all tools.
func (b *bench) decode(ctx context.Context, in input) error {
	all := append([]tool{ours(b.workers)}, b.tools...)
	table := make([]series, len(all))
	for i, t := range all {
		table[i].name = t.name
		if _, err := measure(ctx, t.stdout(in.path), nil); err != nil { // warm up
			return err
		}
	}
	for range b.rounds {
		for i, t := range all {
			s, err := measure(ctx, t.stdout(in.path), nil)
			if err != nil {
				return err
			}
			table[i].samples = append(table[i].samples, s)
		}
	}
	fmt.Fprintf(b.out, "\ndecode %s: %s from %s of bzip2, one stream\n", in.name, amount(in.size), amount(in.compressed))
	b.print(table, in)
	return nil
}

func (b *bench) print(table []series, in input) {
	w := tabwriter.NewWriter(b.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "  \tseconds\tMB/s\tprocessor seconds\tpeak MiB\twe are faster\tin processor time\tgoal")
	us := table[0]
	for i, s := range table {
		seconds := s.figure(wall)
		fmt.Fprintf(w, "  %s\t%v\t%.0f\t%v\t%.0f", s.name, seconds, float64(in.size)/1e6/seconds.median, s.figure(cpu), s.figure(peak).most)
		switch {
		case i > 0:
			fmt.Fprintf(w, "\t%v times\t%v times\t%s\n", us.times(s, wall), us.times(s, cpu), in.goal(s.name))
		default:
			fmt.Fprintf(w, "\t\t\tpeak under %d MiB\n", goalPeak)
		}
	}
	_ = w.Flush()
}
