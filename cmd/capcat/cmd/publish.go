package cmd

import (
	"context"
	_ "embed" // the help of publish
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"aead.dev/minisign"
	"github.com/spf13/cobra"

	"github.com/capcat/capcat/imagecatalog/index"
	"github.com/capcat/capcat/imagecatalog/publish"
)

//go:embed publish.md
var publishHelp string

// publishFlags are the flags of publish as they were typed.
type publishFlags struct {
	place         placeFlags
	to, base      string
	key, password string
	trusted       []string
	output        string
	catalog       string
}

func newPublish(stdout, stderr io.Writer) *cobra.Command {
	var f publishFlags
	c := &cobra.Command{
		Use:   "publish BUILD... --to PLACE --key FILE",
		Short: "Put built images and a signed index of them where others fetch them",
		Long:  publishHelp,
		Args:  cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return f.run(c.Context(), args, c.InOrStdin(), stdout, stderr)
		},
	}
	flags := c.Flags()
	flags.StringVar(&f.to, "to", "", "a folder, or the https address of one on a server that takes PUT")
	flags.StringVar(&f.base, "base-url", "", "address under which the place is read (default: the one of --to, if it is one)")
	flags.StringVar(&f.key, "key", "", "file with the secret key that signs the index")
	flags.StringVar(&f.password, "password-file", "", "file with the password of the key (default: $"+passwordEnv+", else asked for)")
	flags.StringVar(&f.catalog, "catalog", "", "file with a TemplateCatalog that the entries are put into")
	flags.StringArrayVar(&f.trusted, "trust", nil, "file with a public key that may have signed the index which is there, besides --key")
	flags.StringVarP(&f.output, "output", "o", "text", "text or json")
	f.place.add(flags)
	return c
}

func (f *publishFlags) run(ctx context.Context, builds []string, stdin io.Reader, stdout, stderr io.Writer) error {
	switch {
	case !slices.Contains([]string{"text", "json"}, f.output):
		return fmt.Errorf("--output is text or json, not %q", f.output)
	case f.to == "":
		return errors.New("publish needs --to")
	case f.key == "":
		return errors.New("publish needs --key; capcat key generate makes one")
	}
	trusted, err := publicKeys(f.trusted)
	if err != nil {
		return err
	}
	key, err := privateKey(f.key, passwordFrom(f.password, stdin, stderr))
	if err != nil {
		return err
	}
	if f.base == "" && isURL(f.to) {
		f.base = f.to
	}
	f.place.token = os.Getenv(tokenEnv)
	place, err := f.place.open(f.to, publish.NewFolder)
	if err != nil {
		return err
	}
	bar := newProgress(stderr)
	res, err := publish.Run(ctx, publish.Options{
		Builds: builds, Place: place, Key: key, Trusted: trusted, BaseURL: f.base, Catalog: f.catalog, Report: reportTo(bar, stderr),
	})
	bar.done()
	if err != nil {
		return err
	}
	if f.base == "" {
		fmt.Fprintln(stderr, "without --base-url the entries keep the addresses that the build gave them")
	}
	return printPublished(stdout, res, f.output)
}

// reportTo shows what is done on the bar, and what is finished as lines.
func reportTo(bar *progress, stderr io.Writer) func(publish.Event) {
	return func(e publish.Event) {
		if e.Doing != "" {
			bar.at(e.Doing, 0, 0)
			return
		}
		bar.done()
		if e.Uploaded {
			fmt.Fprintln(stderr, "sent", e.File)
		} else {
			fmt.Fprintln(stderr, "there already:", e.File)
		}
	}
}

// printPublished prints the lines for a catalog, or all that is known.
func printPublished(w io.Writer, res publish.Result, output string) error {
	texts := []string{}
	for _, e := range res.Entries {
		texts = append(texts, e.Indented())
	}
	if output == "json" {
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		enc.SetEscapeHTML(false)
		return enc.Encode(map[string]any{
			"revision": res.Index.Revision, "images": orEmpty(res.Added), "uploaded": orEmpty(res.Uploaded), "kept": orEmpty(res.Kept),
			"entries": texts,
		})
	}
	_, err := io.WriteString(w, strings.Join(texts, ""))
	return err
}

// orEmpty makes an empty list of none.
func orEmpty[T any](list []T) []T { return append([]T{}, list...) }

// publicKeys reads files of minisign.
func publicKeys(files []string) ([]minisign.PublicKey, error) {
	keys := make([]minisign.PublicKey, 0, len(files))
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		key, err := index.ParsePublicKey(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		keys = append(keys, key)
	}
	return keys, nil
}

// privateKey reads a file of minisign.
func privateKey(name string, password func() (string, error)) (minisign.PrivateKey, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return minisign.PrivateKey{}, err
	}
	key, err := index.ParsePrivateKey(text, password)
	if err != nil {
		return key, fmt.Errorf("%s: %w", name, err)
	}
	return key, nil
}
