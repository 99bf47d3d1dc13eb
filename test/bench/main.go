package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// config is what a person can choose.
type config struct {
	size    int // MiB of each input
	rounds  int
	workers int
	dir     string
	only    string

	crews      []crew
	steady     time.Duration
	kubeconfig string
}

const (
	suiteDecode = "decode"
	suiteChain  = "chain"
	suiteCalls  = "calls"
)

func run(ctx context.Context, args []string, out io.Writer) error {
	if len(args) > 0 && args[0] == childMark {
		return child(ctx, args[1:], out)
	}
	c, err := parse(args, out)
	if err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return nil
		}
		return err
	}
	if c.dir == "" {
		if c.dir, err = os.MkdirTemp("", "capcat-bench-"); err != nil {
			return err
		}
		defer os.RemoveAll(c.dir)
	}
	b := &bench{config: c, out: out, tools: findTools()}
	fmt.Fprintf(out, "%s/%s, %d processors, %s; %d rounds in turn; figures are median [least-most]\n",
		runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version(), c.rounds)
	return b.run(ctx)
}

func parse(args []string, out io.Writer) (config, error) {
	var c config
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.SetOutput(out)
	f.IntVar(&c.size, "size", 96, "about how many MiB each image has")
	f.IntVar(&c.rounds, "rounds", 5, "how often everything is measured")
	f.IntVar(&c.workers, "workers", 2, "how many blocks we and lbzip2 decode at a time")
	f.StringVar(&c.dir, "dir", "", "keep the inputs in this folder, and use those that are there")
	f.StringVar(&c.only, "only", "", "run only "+suiteDecode+", "+suiteChain+" or "+suiteCalls)
	crews := f.String("crews", defaultCrews, "what managers get to make: workers, control-plane machines + workers, or so many clusters x either")
	f.StringVar(&c.kubeconfig, "kubeconfig", "", "use the API server of this file, which has the CRDs, instead of starting one")
	f.DurationVar(&c.steady, "steady", 4*time.Minute, "how long the calls of the steady state are counted")
	if err := f.Parse(args); err != nil {
		return c, err
	}
	var err error
	if c.crews, err = parseCrews(*crews); err != nil {
		return c, err
	}
	switch {
	case f.NArg() > 0:
		return c, fmt.Errorf("unexpected argument %q", f.Arg(0))
	case c.size < 1 || c.size > 16<<10:
		return c, fmt.Errorf("size %d is not between 1 and %d MiB", c.size, 16<<10)
	case c.rounds < 1 || c.workers < 1:
		return c, errors.New("rounds and workers must be positive")
	case c.steady <= 0:
		return c, errors.New("the steady state must be watched for some time")
	case !slices.Contains([]string{"", suiteDecode, suiteChain, suiteCalls}, c.only):
		return c, fmt.Errorf("there is no suite %q", c.only)
	}
	return c, nil
}

// bench is one run.
type bench struct {
	config
	out   io.Writer
	tools []tool
}

// run measures what is asked for: what a suite does not need is not made.
func (b *bench) run(ctx context.Context) error {
	wants := func(suite string) bool { return b.only == "" || b.only == suite }
	if wants(suiteDecode) {
		for _, k := range kinds() {
			in, err := b.makeInput(ctx, k)
			if err != nil {
				return err
			}
			if err := b.decode(ctx, in); err != nil {
				return err
			}
		}
	}
	if wants(suiteChain) {
		in, err := b.makeInput(ctx, kinds()[0])
		if err != nil {
			return err
		}
		if err := b.chain(ctx, in); err != nil {
			return err
		}
	}
	if wants(suiteCalls) {
		return b.calls(ctx)
	}
	return nil
}
