// Command capcat shows people what the image pipeline sees: inspect a file, resolve a version, verify a catalog.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/capcat/capcat/cmd/capcat/cmd"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(cmd.Execute(ctx, os.Args[1:], os.Stdout, os.Stderr))
}
