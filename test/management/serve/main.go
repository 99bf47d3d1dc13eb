// Command serve runs a management cluster until it is interrupted.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/capcat/capcat/test/management"
)

func main() {
	ctrl.SetLogger(logr.Discard())
	dir := flag.String("dir", ".management", "folder")
	rel := flag.String("release", "", "")
	man := flag.String("manager", "bin/manager", "")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	m, _ := filepath.Abs(*man)
	c, err := management.Start(ctx, management.Options{Dir: *dir, Out: os.Stdout,
		Programs:  map[string]management.Program{"capc-controller": {Path: m}},
		Providers: []management.Provider{management.Infrastructure("cloudstack", *rel)}})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("up", c.Environment(), c.Bin())
	<-ctx.Done()
	fmt.Println(c.Stop())
}
