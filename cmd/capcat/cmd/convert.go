package cmd

import (
	"context"
	_ "embed" // the help of convert
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/capcat/capcat/imagecatalog/artifact"
	"github.com/capcat/capcat/imagecatalog/artifact/convert"
	"github.com/capcat/capcat/imagecatalog/artifact/inspect"
	"github.com/capcat/capcat/imagecatalog/artifact/ova"
)

//go:embed convert.md
var convertHelp string

// convertFlags are the flags of convert as they were typed.
type convertFlags struct {
	format, os, output string
	request            convert.Request
}

func newConvert(stdout, stderr io.Writer) *cobra.Command {
	var f convertFlags
	f.request.MaxVirtualSizeBytes = artifact.DefaultMaxVirtualSizeBytes
	c := &cobra.Command{
		Use:   "convert DISK TARGET...",
		Short: "Make the files for KVM, VMware and XenServer from a disk",
		Long:  convertHelp,
		Args:  cobra.MinimumNArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			return f.run(c.Context(), args[0], args[1:], stdout, stderr)
		},
	}
	flags := c.Flags()
	flags.StringVar(&f.format, "source-format", "", "QCOW2 or RAW (default: what is found)")
	flags.StringVar(&f.os, "os", "", "operating system for the descriptor of an OVA, such as ubuntu-24.04 (default: other Linux)")
	flags.StringVar(&f.request.Machine.Name, "name", "", "name of the machine in an OVA (default: that of the file)")
	flags.BoolVar(&f.request.Machine.EFI, "efi", false, "the machine in an OVA boots by EFI")
	flags.BoolVar(&f.request.PlainClusters, "plain-clusters", false, "do not compress the clusters of a qcow2")
	flags.BoolVar(&f.request.SideFiles, "sums", true, "write a .sha256 and a .sha512 beside every file")
	flags.BoolVar(&f.request.Overwrite, "force", false, "replace files that exist")
	flags.Var((*quantity)(&f.request.MaxVirtualSizeBytes), "max-virtual-size", "largest disk that the guest may see, as 1Ti or in bytes")
	flags.StringVarP(&f.output, "output", "o", "text", "text or json")
	return c
}

func (f *convertFlags) run(ctx context.Context, source string, targets []string, stdout, stderr io.Writer) error {
	if !slices.Contains([]string{"text", "json"}, f.output) {
		return fmt.Errorf("--output is text or json, not %q", f.output)
	}
	format, err := artifact.ParseFormat(f.format)
	if err != nil {
		return fmt.Errorf("--source-format: %w", err)
	}
	for _, target := range targets { // a wrong name is told before the first long run
		if _, _, err := convert.KindOf(target); err != nil {
			return err
		}
	}
	r := f.request
	r.Source, r.SourceFormat, r.Machine.Guest = source, format, ova.GuestFor(f.os)
	bar := newProgress(stderr)
	defer bar.done()
	made := make([]converted, 0, len(targets))
	for _, target := range targets {
		r.Target = target
		res, err := convert.File(ctx, r, func(p convert.Phase, done, total int64) {
			bar.at(fmt.Sprintf("%s: %s", filepath.Base(target), p), done, total)
		})
		if err != nil {
			return err
		}
		made = append(made, convertedFrom(res))
	}
	bar.done()
	return printConverted(stdout, made, f.output)
}

// converted is what is printed of a file. The JSON names are an interface.
type converted struct {
	Path             string               `json:"path"`
	Format           artifact.Format      `json:"format"`
	Compression      artifact.Compression `json:"compression"`
	Bytes            int64                `json:"bytes"`
	ContentBytes     int64                `json:"contentBytes"`
	VirtualSizeBytes int64                `json:"virtualSizeBytes"`
	SHA256           string               `json:"sha256"`
	SHA512           string               `json:"sha512"`
	Warnings         []inspect.Finding    `json:"warnings"`
}

func convertedFrom(r convert.Result) converted {
	return converted{
		Path: r.Path, Format: r.Format, Compression: r.Compression, Bytes: r.Bytes, ContentBytes: r.ContentBytes,
		VirtualSizeBytes: r.VirtualSizeBytes, SHA256: r.SHA256.Hex, SHA512: r.SHA512.Hex,
		Warnings: append([]inspect.Finding{}, r.Warnings...),
	}
}

func printConverted(w io.Writer, made []converted, output string) error {
	if output == "json" {
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		enc.SetEscapeHTML(false)
		return enc.Encode(map[string]any{"files": made})
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "FILE\tFORMAT\tBYTES\tVIRTUAL SIZE\tSHA256")
	for _, m := range made {
		fmt.Fprintf(t, "%s\t%s\t%d\t%d\t%s\n", m.Path, m.Format, m.Bytes, m.VirtualSizeBytes, m.SHA256)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, m := range made {
		for _, f := range m.Warnings {
			fmt.Fprintf(w, "%s: %s: %s\n", m.Path, f.Code, f.Message)
		}
	}
	return nil
}
