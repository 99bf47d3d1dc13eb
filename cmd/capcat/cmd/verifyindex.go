package cmd

import (
	"context"
	_ "embed" // the help of verify-index
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/capcat/capcat/imagecatalog/index"
	"github.com/capcat/capcat/imagecatalog/publish"
)

//go:embed verifyindex.md
var verifyIndexHelp string

// verifyIndexFlags are the flags of verify-index as they were typed.
type verifyIndexFlags struct {
	place  placeFlags
	keys   []string
	files  bool
	output string
}

// maxRedirects is enough for a short address, a release page and the store behind it.
const maxRedirects = 10

func newVerifyIndex(stdout, stderr io.Writer) *cobra.Command {
	var f verifyIndexFlags
	c := &cobra.Command{
		Use:   "verify-index PLACE --key FILE",
		Short: "Prove an index of images by its signature",
		Long:  verifyIndexHelp,
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return f.run(c.Context(), args[0], stdout, stderr)
		},
	}
	flags := c.Flags()
	flags.StringArrayVar(&f.keys, "key", nil, "file with a public key that may have signed the index")
	flags.BoolVar(&f.files, "files", false, "also read every file beside the index and compare its digest")
	flags.StringVarP(&f.output, "output", "o", "text", "text or json")
	f.place.add(flags)
	return c
}

func (f *verifyIndexFlags) run(ctx context.Context, place string, stdout, stderr io.Writer) error {
	switch {
	case !slices.Contains([]string{"text", "json"}, f.output):
		return fmt.Errorf("--output is text or json, not %q", f.output)
	case len(f.keys) == 0:
		return errors.New("verify-index needs --key")
	}
	keys, err := publicKeys(f.keys)
	if err != nil {
		return err
	}
	f.place.redirects = maxRedirects
	p, err := f.place.open(place, publish.OpenFolder)
	if err != nil {
		return err
	}
	bar := newProgress(stderr)
	v, err := publish.Verify(ctx, p, keys, f.files, reportTo(bar, stderr))
	bar.done()
	if errors.Is(err, index.ErrSignature) || errors.Is(err, publish.ErrFile) {
		return &ExitError{Code: exitRejected, Err: err}
	}
	if err != nil {
		return err
	}
	return printIndex(stdout, v, f.output)
}

func printIndex(w io.Writer, v publish.Verified, output string) error {
	if output == "json" {
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		enc.SetEscapeHTML(false)
		return enc.Encode(map[string]any{
			"revision": v.Index.Revision, "trustedComment": v.TrustedComment, "images": orEmpty(v.Index.Images), "verifiedFiles": orEmpty(v.Files),
		})
	}
	fmt.Fprintf(w, "The signature is good. Revision %d; %s\n", v.Index.Revision, v.TrustedComment)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "NAME\tVERSION\tHYPERVISOR\tARCH\tFORMAT\tSIZE\tFILE")
	for _, i := range v.Index.Images {
		state := ""
		if slices.ContainsFunc(v.Files, func(name string) bool { return index.Reference(name) == i.URLs[0] }) {
			state = " (digest is right)"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%d\t%s%s\n", i.Name, i.KubernetesVersion, i.Hypervisor, i.Arch, i.Format, i.SizeBytes, i.URLs[0], state)
	}
	return t.Flush()
}
