package cmd

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/imagecatalog"
)

// answer prints what became of a request.
type answer struct {
	expanded expansion
	request  imagecatalog.Request
	json     bool
}

// resolution is the JSON form of an answer. Result is Found, NotFound or Ambiguous.
type resolution struct {
	Result  string `json:"result"`
	Request asked  `json:"request"`
	// Reason in one word, when nothing was found.
	Reason string `json:"reason,omitempty"`
	// Why the image was chosen, or what to do about an answer that is none.
	Why      string     `json:"why"`
	Warnings []string   `json:"warnings,omitempty"`
	Artifact *entryView `json:"artifact,omitempty"`
	// Candidates fit equally well (Ambiguous) or come nearest (NotFound).
	Candidates []entryView `json:"candidates,omitempty"`
}

// asked is the JSON form of a request.
type asked struct {
	Version    string             `json:"version"`
	OS         infrav1.OSName     `json:"os,omitempty"`
	Arch       infrav1.Arch       `json:"arch,omitempty"`
	Hypervisor infrav1.Hypervisor `json:"hypervisor,omitempty"`
	Zone       string             `json:"zone,omitempty"`
	Image      string             `json:"image,omitempty"`
}

// entryView is the JSON form of an expanded entry.
type entryView struct {
	Catalog           string              `json:"catalog"`
	Image             string              `json:"image"`
	KubernetesVersion string              `json:"kubernetesVersion"`
	OS                infrav1.OSName      `json:"os"`
	Arch              infrav1.Arch        `json:"arch"`
	Hypervisor        infrav1.Hypervisor  `json:"hypervisor,omitempty"`
	Zones             []string            `json:"zones"`
	Format            infrav1.Format      `json:"format,omitempty"`
	URLs              []infrav1.SourceURL `json:"urls"`
	Checksum          infrav1.Checksum    `json:"checksum"`
	Stage             infrav1.Stage       `json:"stage"`
	Expires           *time.Time          `json:"expires,omitempty"`
	// Object is the name of the CloudStackImage that the provider makes of it.
	Object string `json:"object"`
}

// print writes the answer and gives the error that ends the process with its exit code.
func (a answer) print(w io.Writer, choice imagecatalog.Choice, err error) error {
	r := resolution{Request: a.asked()}
	var notFound *imagecatalog.NotFoundError
	var ambiguous *imagecatalog.AmbiguousError
	exit := 0
	switch {
	case err == nil:
		a.found(&r, choice)
	case errors.As(err, &notFound):
		exit = exitNotFound
		r.Result, r.Reason, r.Why, r.Candidates = "NotFound", string(notFound.Cause), notFound.Message, a.artifacts(notFound.Near)
	case errors.As(err, &ambiguous):
		exit = exitAmbiguous
		r.Result, r.Why, r.Candidates = "Ambiguous", ambiguous.Message, a.artifacts(ambiguous.Candidates)
	default:
		return err
	}
	if a.json {
		err = writeJSON(w, r)
	} else {
		err = r.text(w)
	}
	if err != nil {
		return fmt.Errorf("writing the answer: %w", err)
	}
	if exit != 0 {
		return &ExitError{Code: exit}
	}
	return nil
}

func (a answer) asked() asked {
	r := a.request
	return asked{Version: r.Version.String(), OS: r.OS, Arch: r.Arch, Hypervisor: r.Hypervisor, Zone: r.Zone, Image: r.Image}
}

func (a answer) found(r *resolution, choice imagecatalog.Choice) {
	r.Result, r.Why, r.Warnings = "Found", choice.Why, choice.Warnings
	chosen := a.artifact(choice.Candidate)
	chosen.Zones = nil
	for _, c := range choice.Copies {
		zone := a.expanded.entries[c.ID].entry.ZoneKey()
		if !slices.Contains(chosen.Zones, zone) {
			chosen.Zones = append(chosen.Zones, zone)
		}
	}
	slices.Sort(chosen.Zones)
	r.Artifact = &chosen
	if a.expanded.entries[choice.Candidate.ID].dropped {
		r.Warnings = append(r.Warnings, "the catalog's retention does not keep this image")
	}
}

func (a answer) artifacts(candidates []imagecatalog.Candidate) []entryView {
	out := make([]entryView, 0, len(candidates))
	for _, c := range candidates {
		out = append(out, a.artifact(c))
	}
	return out
}

func (a answer) artifact(c imagecatalog.Candidate) entryView {
	named := a.expanded.entries[c.ID]
	e := &named.entry
	out := entryView{
		Catalog: named.catalog, Image: e.Image, KubernetesVersion: e.Version.String(), OS: e.OS, Arch: e.Arch, Hypervisor: e.Hypervisor,
		Zones: []string{e.ZoneKey()}, Format: e.Source.Format, URLs: e.Source.URLs, Checksum: e.Source.Checksum, Stage: e.Life.Stage, Object: c.ID,
	}
	if !e.Life.Expires.IsZero() {
		out.Expires = &e.Life.Expires
	}
	return out
}

func writeJSON(w io.Writer, value any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(value)
}

// text writes the answer for people.
func (r *resolution) text(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	line := func(key, value string) {
		if value != "" {
			fmt.Fprintf(t, "%s:\t%s\n", key, value)
		}
	}
	line("Result", strings.TrimSuffix(r.Result+" "+r.Reason, " "))
	line("Why", r.Why)
	for _, warning := range r.Warnings {
		line("Warning", warning)
	}
	if c := r.Artifact; c != nil {
		line("Image", c.Image+" of catalog "+c.Catalog)
		line("Version", c.KubernetesVersion)
		line("OS", string(c.OS))
		line("Arch", string(c.Arch))
		line("Hypervisor", string(c.Hypervisor))
		line("Zones", strings.Join(c.Zones, ", "))
		line("Format", string(c.Format))
		for _, u := range c.URLs {
			line("URL", string(u))
		}
		line("Checksum", checksumText(c.Checksum))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	return table(w, r.Candidates)
}

func checksumText(sum infrav1.Checksum) string {
	switch {
	case sum.Value != "":
		return string(sum.Algorithm) + ":" + sum.Value
	case sum.URL != "":
		return sum.URL
	}
	return "none (insecureSkip)"
}

// table lists images for people; nothing is written when there are none.
func table(w io.Writer, images []entryView) error {
	if len(images) == 0 {
		return nil
	}
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, "\nIMAGE\tVERSION\tOS\tARCH\tHYPERVISOR\tZONE\tSTAGE\tURL")
	for _, i := range images {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n",
			i.Image, i.KubernetesVersion, i.OS, i.Arch, i.Hypervisor, strings.Join(i.Zones, ","), i.Stage, i.URLs[0])
	}
	return t.Flush()
}
