// Command with boots one control plane, installs the CRDs, runs the command that its arguments name with the kubeconfig in
// $CAPCAT_TEST_KUBECONFIG, and exits as that command did.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/capcat/capcat/test/controlplane"
)

func main() {
	log.SetLogger(logr.Discard())
	code, err := run(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "with:", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

func run(command []string) (code int, err error) {
	if len(command) == 0 {
		return 1, errors.New("usage: with COMMAND [ARGUMENT...]")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	plane, err := start(ctx)
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, plane.Stop()) }()
	dir, err := os.MkdirTemp("", "capcat-with-")
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path := filepath.Join(dir, "kubeconfig")
	kubeconfig, err := plane.Kubeconfig()
	if err != nil {
		return 1, err
	}
	if err := os.WriteFile(path, kubeconfig, 0o600); err != nil {
		return 1, err
	}
	return execute(ctx, command, controlplane.KubeconfigEnv+"="+path)
}

func start(ctx context.Context) (*controlplane.ControlPlane, error) {
	paths, err := controlplane.DefaultCRDs(ctx)
	if err != nil {
		return nil, err
	}
	return controlplane.Start(ctx, controlplane.Options{CRDPaths: paths})
}

func execute(ctx context.Context, command []string, env string) (int, error) {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), env)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	err := cmd.Run()
	if exit := new(exec.ExitError); errors.As(err, &exit) {
		return max(exit.ExitCode(), 1), nil
	}
	if err != nil {
		return 1, err
	}
	return 0, nil
}
