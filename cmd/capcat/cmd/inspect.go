package cmd

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/capcat/capcat/imagecatalog/artifact"
	"github.com/capcat/capcat/imagecatalog/artifact/inspect"
)

//go:embed inspect.md
var inspectHelp string

const exitRejected = 2

// inspectOptions is the command line of one inspection.
type inspectOptions struct {
	source     string
	checksum   string
	allowWeak  bool
	format     string
	hypervisor string
	output     string
	limits     artifact.Limits
}

func newInspect(stdout, stderr io.Writer) *cobra.Command {
	o := inspectOptions{limits: artifact.Limits{}.WithDefaults()}
	c := &cobra.Command{
		Use:   "inspect FILE|URL",
		Short: "Say whether an image is fit for CloudStack",
		Long:  inspectHelp,
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			o.source = args[0]
			return runInspect(c.Context(), o, stdout, stderr)
		},
	}
	f := c.Flags()
	f.StringVar(&o.checksum, "checksum", "", "what proves the file: algorithm:hex, or the address of a checksum file")
	f.BoolVar(&o.allowWeak, "allow-weak", false, "let MD5 and SHA-1 prove the file")
	f.StringVar(&o.format, "format", "", "format the content must have: QCOW2, VHD, VMDK, OVA or RAW (default: what is found)")
	f.StringVar(&o.hypervisor, "hypervisor", "", "hypervisor that has to take the format: KVM, VMware, XenServer, ...")
	f.Var((*quantity)(&o.limits.MaxOutputBytes), "max-output", "most that may come out of the compression, as 64Gi or in bytes")
	f.Var((*quantity)(&o.limits.MaxVirtualSizeBytes), "max-virtual-size", "largest disk that the guest may see, as 1Ti or in bytes")
	f.StringVarP(&o.output, "output", "o", "text", "text or json")
	return c
}

// validate reads the flags that have a closed set of values.
func (o inspectOptions) validate() (artifact.Format, error) {
	if !slices.Contains([]string{"text", "json"}, o.output) {
		return "", fmt.Errorf("--output is text or json, not %q", o.output)
	}
	if o.hypervisor != "" && artifact.FormatsFor(o.hypervisor) == nil {
		return "", fmt.Errorf("--hypervisor %q is not known; KVM, VMware, XenServer, Ovm and Simulator are", o.hypervisor)
	}
	format, err := artifact.ParseFormat(o.format)
	if err != nil {
		return "", fmt.Errorf("--format: %w", err)
	}
	return format, nil
}

func runInspect(ctx context.Context, o inspectOptions, stdout, stderr io.Writer) (err error) {
	format, err := o.validate()
	if err != nil {
		return err
	}
	bar := newProgress(stderr)
	work := &workspace{}
	defer func() { err = errors.Join(err, work.remove()) }()
	v, err := examine(ctx, o, format, work, bar)
	bar.done()
	if err != nil {
		return err
	}
	if err := v.print(stdout, o.output); err != nil {
		return err
	}
	if v.Verdict == inspect.Reject {
		return &ExitError{Code: exitRejected}
	}
	return nil
}

// examine finds the verdict. The error is for everything that is no fault of the image.
func examine(ctx context.Context, o inspectOptions, format artifact.Format, work *workspace, bar *progress) (verdict, error) {
	v := verdict{}
	want, err := wanted(ctx, o)
	if err != nil {
		return v, v.reject(err)
	}
	file, err := work.bring(ctx, o, bar)
	if err != nil {
		return v, v.reject(err)
	}
	defer file.Close()
	x, err := work.expand(ctx, file, want, o.limits, bar)
	v.Compression = x.compression
	v.DownloadDigest, v.ContentDigest = x.download.String(), x.content.String()
	if err != nil {
		return v, v.reject(err)
	}
	if x.temp != nil {
		defer x.temp.Close()
	}
	report, err := inspect.Inspect(ctx, x.reader(), x.size, inspect.Options{
		Declared: format, Hypervisor: o.hypervisor, MaxVirtualSizeBytes: o.limits.MaxVirtualSizeBytes,
	})
	if err != nil {
		return v, err
	}
	v.take(report)
	return v, nil
}

// isURL says whether the argument is an address, and not a file.
func isURL(s string) bool { return strings.Contains(s, "://") }

// localPath is the file that the argument names, false for an address of another machine.
func localPath(s string) (string, bool) {
	if path, found := strings.CutPrefix(s, "file://"); found {
		return path, true
	}
	return s, !isURL(s)
}

// openRegular opens a file that is worth inspecting.
func openRegular(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no regular file", path)
	}
	return os.Open(path)
}
