package cmd

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/imagecatalog"
	"github.com/capcat/capcat/imagecatalog/artifact"
	"github.com/capcat/capcat/imagecatalog/artifact/fetch"
	"github.com/capcat/capcat/imagecatalog/artifact/inspect"
	"github.com/capcat/capcat/imagecatalog/importer"
	"github.com/capcat/capcat/imagecatalog/importspec"
)

// verdictError is for an image that nothing can be said about.
const verdictError = "error"

// verification is what is printed. The JSON names are an interface.
type verification struct {
	Images []verifiedImage `json:"images"`
}

// verifiedImage is one file and what became of it.
type verifiedImage struct {
	Catalog           string   `json:"catalog"`
	Image             string   `json:"image"`
	KubernetesVersion string   `json:"kubernetesVersion"`
	Hypervisor        string   `json:"hypervisor"`
	Zones             []string `json:"zones"`
	URLs              []string `json:"urls"`

	Verdict          string               `json:"verdict"`
	Reason           artifact.Code        `json:"reason"`
	Message          string               `json:"message"`
	Format           artifact.Format      `json:"format"`
	Compression      artifact.Compression `json:"compression"`
	VirtualSizeBytes int64                `json:"virtualSizeBytes"`
	DownloadBytes    int64                `json:"downloadBytes"`
	ContentBytes     int64                `json:"contentBytes"`
	DownloadDigest   string               `json:"downloadDigest"`
	ContentDigest    string               `json:"contentDigest"`
	MirrorUsed       string               `json:"mirrorUsed"`
	SourceRedirected bool                 `json:"sourceRedirected"`
	WeakChecksum     bool                 `json:"weakChecksum"`
	Warnings         []inspect.Finding    `json:"warnings"`

	spec importer.Spec
}

// namedImages lists the files that catalogs name, each once for every image, version and hypervisor.
func namedImages(catalogs []v1beta2.TemplateCatalog) []verifiedImage {
	var images []verifiedImage
	seen := map[string]int{}
	for i := range catalogs {
		catalog := &catalogs[i]
		entries, _ := imagecatalog.Expand(&catalog.Spec) // decoding has proven that there are no errors
		for j := range entries {
			e := &entries[j]
			key := strings.Join([]string{catalog.Name, e.Image, e.Version.String(), string(e.Hypervisor), e.ContentKey()}, "\x00")
			at, known := seen[key]
			if !known {
				at = len(images)
				seen[key] = at
				images = append(images, namedImage(catalog, e))
			}
			if zone := e.ZoneKey(); !slices.Contains(images[at].Zones, zone) {
				images[at].Zones = append(images[at].Zones, zone)
			}
		}
	}
	return images
}

func namedImage(catalog *v1beta2.TemplateCatalog, e *imagecatalog.Entry) verifiedImage {
	v := verifiedImage{
		Catalog: catalog.Name, Image: e.Image, KubernetesVersion: e.Version.String(), Hypervisor: string(e.Hypervisor),
		Warnings: []inspect.Finding{}, spec: importspec.Of(e.Source, e.Hypervisor, catalog.Spec.Limits),
	}
	for _, u := range v.spec.URLs {
		v.URLs = append(v.URLs, fetch.Redact(u))
	}
	return v
}

// print writes the table or the object, and gives the exit code that the verdicts have.
func (v verification) print(w io.Writer, output string) error {
	var err error
	if output == "json" {
		err = writeJSON(w, v)
	} else {
		err = v.text(w)
	}
	if err != nil {
		return fmt.Errorf("writing the verdicts: %w", err)
	}
	has := func(verdict string) bool {
		return slices.ContainsFunc(v.Images, func(i verifiedImage) bool { return i.Verdict == verdict })
	}
	switch {
	case has(string(inspect.Reject)):
		return &ExitError{Code: exitRejected}
	case has(verdictError):
		return &ExitError{Code: 1}
	}
	return nil
}

func (v verification) text(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, "IMAGE\tVERSION\tHYPERVISOR\tZONES\tVERDICT\tREASON\tFORMAT\tDISK\tURL")
	for _, i := range v.Images {
		size := quantity(i.VirtualSizeBytes)
		disk := size.String()
		if size == 0 {
			disk = "-"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", i.Image, i.KubernetesVersion, orDash(i.Hypervisor), strings.Join(i.Zones, ","),
			i.Verdict, orDash(string(i.Reason)), orDash(string(i.Format)), disk, i.URLs[0])
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, i := range v.Images {
		if i.Message == "" {
			continue
		}
		if _, err := fmt.Fprintf(w, "\n%s %s %s: %s\n", i.Image, i.KubernetesVersion, i.Hypervisor, i.Message); err != nil {
			return err
		}
	}
	return nil
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
