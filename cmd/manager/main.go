// Command manager runs the controllers of the provider.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/pflag"
	cliflag "k8s.io/component-base/cli/flag"
	logsv1 "k8s.io/component-base/logs/api/v1"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
)

func main() {
	if err := run(ctrl.SetupSignalHandler(), os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "manager:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdout io.Writer) error {
	o := newOptions()
	fs := pflag.NewFlagSet("manager", pflag.ContinueOnError)
	fs.SortFlags = false
	fs.SetNormalizeFunc(cliflag.WordSepNormalizeFunc)
	fs.Usage = func() { fmt.Fprint(stdout, fs.FlagUsagesWrapped(usageWidth)) }
	o.addFlags(fs)
	err := fs.Parse(args)
	if errors.Is(err, pflag.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := o.validate(); err != nil {
		return err
	}
	if err := logsv1.ValidateAndApply(o.logs, nil); err != nil {
		return fmt.Errorf("setting up logs: %w", err)
	}
	ctrl.SetLogger(klog.Background())
	return start(ctx, o)
}

// usageWidth is the width of the help text.
const usageWidth = 110
