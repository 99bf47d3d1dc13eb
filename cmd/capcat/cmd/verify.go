package cmd

import (
	"context"
	_ "embed" // the help of verify
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"

	"github.com/spf13/cobra"

	"github.com/capcat/capcat/imagecatalog/artifact"
	"github.com/capcat/capcat/imagecatalog/artifact/fetch"
	"github.com/capcat/capcat/imagecatalog/artifact/inspect"
	"github.com/capcat/capcat/imagecatalog/artifact/store"
	"github.com/capcat/capcat/imagecatalog/importer"
)

//go:embed verify.md
var verifyHelp string

// verifyFlags are the flags of verify as they were typed.
type verifyFlags struct {
	file, cache, output string
}

func newVerify(stdout, stderr io.Writer) *cobra.Command {
	var f verifyFlags
	c := &cobra.Command{
		Use:   "verify -f CATALOG.yaml",
		Short: "Fetch and inspect every image that a catalog names",
		Long:  verifyHelp,
		Args:  cobra.NoArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return f.run(c.Context(), c.InOrStdin(), stdout, stderr) },
	}
	flags := c.Flags()
	flags.StringVarP(&f.file, "file", "f", "", "file with the TemplateCatalog; - reads the standard input")
	flags.StringVar(&f.cache, "cache", "", "directory that keeps verified images for the next run (default: nothing is kept)")
	flags.StringVarP(&f.output, "output", "o", "text", "text or json")
	return c
}

func (f *verifyFlags) run(ctx context.Context, stdin io.Reader, stdout, stderr io.Writer) (err error) {
	if f.file == "" {
		return errors.New("verify needs --file")
	}
	if f.output != "json" && f.output != "text" {
		return fmt.Errorf("unknown output format %q: use json or text", f.output)
	}
	catalogs, err := (&resolveFlags{file: f.file}).catalogs(stdin)
	if err != nil {
		return err
	}
	v, err := newVerifier(f.cache, newProgress(stderr))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, v.close()) }()
	report := verification{Images: namedImages(catalogs)}
	for i := range report.Images {
		if err := v.verify(ctx, &report.Images[i]); err != nil {
			return err
		}
	}
	return report.print(stdout, f.output)
}

// verifier runs images through the pipeline, one after another.
type verifier struct {
	bar      *progress
	blobs    *store.Store
	fetcher  *fetch.Fetcher
	importer *importer.Importer
	temp     string // removed at the end; "" when the user keeps a cache
}

func newVerifier(cache string, bar *progress) (*verifier, error) {
	v := &verifier{bar: bar}
	var err error
	if cache == "" {
		if cache, err = os.MkdirTemp("", "capcat-verify-"); err != nil {
			return nil, err
		}
		v.temp = cache
	}
	if v.blobs, err = store.Open(cache, store.Options{}); err != nil {
		return nil, errors.Join(err, v.close())
	}
	v.fetcher = fetch.New(fetch.Options{AllowLoopback: true, AllowFile: true, Proxy: http.ProxyFromEnvironment})
	if v.importer, err = importer.New(importer.Options{Store: v.blobs, Fetcher: v.fetcher}); err != nil {
		return nil, errors.Join(err, v.close())
	}
	return v, nil
}

func (v *verifier) close() error {
	v.bar.done()
	if v.fetcher != nil {
		v.fetcher.Close()
	}
	if v.temp == "" {
		return nil
	}
	return os.RemoveAll(v.temp)
}

// verify fills in the verdict. The error is for a run that was stopped.
func (v *verifier) verify(ctx context.Context, image *verifiedImage) error {
	res, err := v.importer.Import(ctx, image.spec, func(p importer.Progress) {
		v.bar.at(fmt.Sprintf("%s %s %s: %s", image.Image, image.KubernetesVersion, image.Hypervisor, p.Phase), p.Bytes, p.TotalBytes)
	})
	if ctx.Err() != nil {
		return err
	}
	if err != nil {
		image.fail(err)
		return nil
	}
	image.pass(res)
	if v.temp == "" {
		return nil
	}
	return errors.Join(v.blobs.Remove(ctx, res.DownloadDigest), v.blobs.Remove(ctx, res.ContentDigest))
}

// fail tells a fault of the image from one of the way to it.
func (i *verifiedImage) fail(err error) {
	i.Verdict, i.Reason, i.Message = verdictError, artifact.CodeOf(err), err.Error()
	var fault *artifact.Error
	if !errors.As(err, &fault) {
		return
	}
	if i.Message = fault.Message; fault.Err != nil {
		i.Message += ": " + fault.Err.Error()
	}
	if blamesImage(fault.Code) {
		i.Verdict = string(inspect.Reject)
	}
}

func (i *verifiedImage) pass(res importer.Result) {
	i.Verdict = string(inspect.Accept)
	i.Warnings = append(i.Warnings, res.Warnings...)
	if res.WeakChecksum {
		i.Warnings = append(i.Warnings, inspect.Finding{Code: artifact.WeakAlgorithm, Message: "no strong checksum proves the file"})
	}
	if len(i.Warnings) > 0 {
		i.Verdict, i.Reason, i.Message = string(inspect.Warn), i.Warnings[0].Code, i.Warnings[0].Message
	}
	i.Format, i.Compression, i.VirtualSizeBytes = res.Format, res.Compression, res.VirtualSizeBytes
	i.DownloadBytes, i.ContentBytes = res.DownloadBytes, res.ContentBytes
	i.DownloadDigest, i.ContentDigest = res.DownloadDigest.String(), res.ContentDigest.String()
	i.MirrorUsed, i.SourceRedirected, i.WeakChecksum = res.MirrorUsed, res.SourceRedirected, res.WeakChecksum
}
