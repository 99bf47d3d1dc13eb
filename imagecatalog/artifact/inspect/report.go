package inspect

import (
	"fmt"

	"github.com/capcat/capcat/imagecatalog/artifact"
)

// Verdict is the outcome of an inspection.
type Verdict string

const (
	// Accept is an image without a remark that matters.
	Accept Verdict = "accept"
	// Warn is an image that may be used, with findings to be shown.
	Warn Verdict = "warn"
	// Reject is an image that must not be registered.
	Reject Verdict = "reject"
)

// Finding is one remark about an image.
type Finding struct {
	// Code is the reason.
	Code artifact.Code `json:"code"`
	// Message is one sentence for people; names from the image are quoted and cut.
	Message string `json:"message"`
	// Rejects says that this finding alone makes the verdict Reject.
	Rejects bool `json:"rejects"`
}

// Report is what the inspection found.
type Report struct {
	// Verdict is Reject with any rejecting finding, Warn with any other, else Accept.
	Verdict Verdict
	// Reason is the code of the finding that decided; "" for Accept.
	Reason artifact.Code
	// Message explains Reason; "" for Accept.
	Message string
	// Format is what the content is, "" when it is nothing we know.
	Format artifact.Format
	// VirtualSizeBytes is the disk that the guest sees, 0 when unknown. It may be known although the verdict is Reject.
	VirtualSizeBytes int64
	// Findings are all remarks in the order found; at most 64.
	Findings []Finding
}

// Err is the rejection as an error, nil for Accept and Warn.
func (r Report) Err() error {
	if r.Verdict != Reject {
		return nil
	}
	return artifact.NewError(r.Reason, r.Message)
}

// Warnings are the findings that do not reject.
func (r Report) Warnings() []Finding {
	var out []Finding
	for _, f := range r.Findings {
		if !f.Rejects {
			out = append(out, f)
		}
	}
	return out
}

const maxFindings = 64

// add appends a finding unless one with this code is there already or the report is full.
func (r *Report) add(f Finding) {
	for _, have := range r.Findings {
		if have.Code == f.Code && have.Rejects == f.Rejects {
			return
		}
	}
	if len(r.Findings) < maxFindings {
		r.Findings = append(r.Findings, f)
	}
}

func (r *Report) reject(code artifact.Code, format string, args ...any) {
	r.add(Finding{Code: code, Message: fmt.Sprintf(format, args...), Rejects: true})
}

func (r *Report) warn(code artifact.Code, format string, args ...any) {
	r.add(Finding{Code: code, Message: fmt.Sprintf(format, args...)})
}

// rejected says whether any finding so far rejects.
func (r *Report) rejected() bool {
	for _, f := range r.Findings {
		if f.Rejects {
			return true
		}
	}
	return false
}

// conclude sets the verdict: the first rejecting finding decides, else the first warning.
func (r *Report) conclude() {
	r.Verdict = Accept
	for _, f := range r.Findings {
		if f.Rejects {
			r.Verdict, r.Reason, r.Message = Reject, f.Code, f.Message
			return
		}
		if r.Verdict == Accept {
			r.Verdict, r.Reason, r.Message = Warn, f.Code, f.Message
		}
	}
}
