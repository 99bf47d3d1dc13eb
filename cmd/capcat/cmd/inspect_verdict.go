package cmd

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/capcat/capcat/imagecatalog/artifact"
	"github.com/capcat/capcat/imagecatalog/artifact/inspect"
)

// verdict is what is printed. The JSON names are an interface.
type verdict struct {
	Verdict          inspect.Verdict      `json:"verdict"`
	Reason           artifact.Code        `json:"reason"`
	Message          string               `json:"message"`
	Format           artifact.Format      `json:"format"`
	Compression      artifact.Compression `json:"compression"`
	VirtualSizeBytes int64                `json:"virtualSizeBytes"`
	DownloadDigest   string               `json:"downloadDigest"`
	ContentDigest    string               `json:"contentDigest"`
	Findings         []inspect.Finding    `json:"findings"`
	Warnings         []inspect.Finding    `json:"warnings"`
}

// take fills in a report.
func (v *verdict) take(r inspect.Report) {
	v.Verdict, v.Reason, v.Message = r.Verdict, r.Reason, r.Message
	v.Format, v.VirtualSizeBytes = r.Format, r.VirtualSizeBytes
	v.Findings, v.Warnings = r.Findings, r.Warnings()
}

// reject turns a fault of the image into the verdict, and gives every other error back.
func (v *verdict) reject(err error) error {
	var fault *artifact.Error
	if !errors.As(err, &fault) || !blamesImage(fault.Code) {
		return err
	}
	message := fault.Message
	if fault.Err != nil {
		message += ": " + fault.Err.Error()
	}
	v.take(inspect.Report{
		Verdict: inspect.Reject, Reason: fault.Code, Message: message,
		Findings: []inspect.Finding{{Code: fault.Code, Message: message, Rejects: true}},
	})
	return nil
}

// blamesImage says whether a code speaks about the bytes, and not about the way to them or about the command line.
func blamesImage(code artifact.Code) bool {
	if code == artifact.TooLarge {
		return true
	}
	for _, info := range artifact.Codes() {
		if info.Code == code {
			return info.Area == artifact.AreaImage || info.Area == artifact.AreaCompression ||
				info.Area == artifact.AreaChecksum && code != artifact.BadChecksumForm
		}
	}
	return false
}

func (v *verdict) print(w io.Writer, output string) error {
	if output == "json" {
		if v.Findings == nil {
			v.Findings = []inspect.Finding{}
		}
		if v.Warnings == nil {
			v.Warnings = []inspect.Finding{}
		}
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		enc.SetEscapeHTML(false)
		return enc.Encode(v)
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	size := ""
	if v.VirtualSizeBytes > 0 {
		size = fmt.Sprintf("%d bytes", v.VirtualSizeBytes)
	}
	for _, row := range [][2]string{
		{"Verdict", string(v.Verdict)}, {"Reason", string(v.Reason)}, {"Message", v.Message}, {"Format", string(v.Format)},
		{"Compression", string(v.Compression)}, {"Virtual size", size}, {"Download", v.DownloadDigest}, {"Content", v.ContentDigest},
	} {
		if row[1] != "" {
			fmt.Fprintf(t, "%s:\t%s\n", row[0], row[1])
		}
	}
	for _, f := range v.Findings {
		if f.Code != v.Reason {
			fmt.Fprintf(t, "Also:\t%s: %s\n", f.Code, f.Message)
		}
	}
	return t.Flush()
}

// quantity is a flag with a size: bytes, or a number with a unit such as 64Gi or 10G.
type quantity int64

func (q *quantity) String() string {
	return resource.NewQuantity(int64(*q), resource.BinarySI).String()
}

func (q *quantity) Type() string { return "size" }

// withoutByte makes 64Gi of 64GiB and 10G of 10GB; anything else stays as it is.
func withoutByte(text string) string {
	for _, unit := range []string{"Ki", "Mi", "Gi", "Ti", "Pi", "M", "G", "T", "P"} {
		if number, found := strings.CutSuffix(text, unit+"B"); found {
			return number + unit
		}
	}
	return text
}

func (q *quantity) Set(text string) error {
	parsed, err := resource.ParseQuantity(withoutByte(text))
	if err != nil {
		return fmt.Errorf("a size is written as 64Gi, 10G or in bytes: %w", err)
	}
	if parsed.Sign() <= 0 {
		return errors.New("a size is more than 0")
	}
	*q = quantity(parsed.Value())
	return nil
}
