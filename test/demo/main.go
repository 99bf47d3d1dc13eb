package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

func main() {
	var o options
	flag.BoolVar(&o.keep, "keep", false, "leave everything running at the end, until interrupted")
	flag.DurationVar(&o.timeout, "timeout", 8*time.Minute, "how long the images may take once everything runs")
	flag.StringVar(&o.dir, "dir", ".demo", "the folder for everything that is made; it is emptied first")
	flag.Parse()

	log.SetLogger(logr.Discard()) // what libraries say is not for the person who watches

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, o, os.Stdout)
	switch {
	case err == nil:
	case errors.Is(err, context.Canceled):
		fmt.Fprintln(os.Stderr, "interrupted; everything is stopped")
		os.Exit(130)
	default:
		fmt.Fprintln(os.Stderr, "\nThe demo failed:", err)
		os.Exit(1)
	}
}
