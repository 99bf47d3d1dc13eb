package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	var o options
	flag.StringVar(&o.url, "url", "", "the API of the server, as http://127.0.0.1:8080/client/api; default: the one in -keys")
	flag.StringVar(&o.keys, "keys", "", `a file of JSON with {"keys": {"admin": ["API key", "secret key"], ...}}: what cloudsim prints will do`)
	flag.StringVar(&o.control, "control", "", "the control endpoints of a simulator: time, settings and restarts go there; without them the replay waits as long as the recorder did")
	flag.StringVar(&o.dir, "dir", defaultDir, "the folder of the transcripts, if no files are named")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: replay -url URL -keys FILE [-control URL] [TRANSCRIPT...]")
		flag.PrintDefaults()
	}
	flag.Parse()
	o.files = flag.Args()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	same, err := run(ctx, o, os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "replay:", err)
		os.Exit(2)
	}
	if !same {
		os.Exit(1)
	}
}
