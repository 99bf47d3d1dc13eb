package cloudstack

import (
	"slices"
	"strings"
)

// TemplateStage is how far a template is on its way into a zone.
type TemplateStage string

// The stages of a template.
const (
	// StageWaiting: nothing has begun.
	StageWaiting TemplateStage = "Waiting"
	// StageDownloading: the storage VM downloads or receives it.
	StageDownloading TemplateStage = "Downloading"
	// StageInstalling: all bytes are there and are being checked and installed.
	StageInstalling TemplateStage = "Installing"
	// StageReady: it can be deployed.
	StageReady TemplateStage = "Ready"
	// StageFailed: it will not become ready by itself.
	StageFailed TemplateStage = "Failed"
	// StageAwaitingUpload: a row that waits for its upload and cannot be deleted.
	StageAwaitingUpload TemplateStage = "AwaitingUpload"
	// StageUploading: a row that receives its upload, or installs it, and cannot be deleted.
	StageUploading TemplateStage = "Uploading"
	// StageAbandoned: an upload that never came or failed; the row can be deleted.
	StageAbandoned TemplateStage = "Abandoned"
)

// Upload tells whether a row in this stage belongs to an upload that has not become a template.
func (t TemplateStage) Upload() bool {
	return t == StageAwaitingUpload || t == StageUploading || t == StageAbandoned
}

// Fault is what was wrong with a failed template.
type Fault string

// The faults of failed templates. NoFault is the zero value.
const (
	NoFault            Fault = ""
	FaultChecksum      Fault = "Checksum"
	FaultChecksumForm  Fault = "ChecksumForm"
	FaultContent       Fault = "Content"
	FaultInstall       Fault = "Install"
	FaultInterrupted   Fault = "Interrupted"
	FaultNoLength      Fault = "NoLength"
	FaultRedirect      Fault = "Redirect"
	FaultForbidden     Fault = "Forbidden"
	FaultMissing       Fault = "Missing"
	FaultTLS           Fault = "TLS"
	FaultTooLarge      Fault = "TooLarge"
	FaultQuota         Fault = "Quota"
	FaultUnreachable   Fault = "Unreachable"
	FaultUploadRefused Fault = "UploadRefused"
	FaultUnknown       Fault = "Unknown"
)

// TemplateState is what the status of a template means.
type TemplateState struct {
	Stage TemplateStage
	// Percent of the download, 0 to 100.
	Percent int32
	// Fault is set when Stage is StageFailed or StageAbandoned.
	Fault Fault
	// Message is what CloudStack said about the fault, redacted; empty when it said nothing.
	Message string
}

// templateState reads the status text and the states of the image stores. isready decides: the text is shown only to some
// callers and differs between versions.
func templateState(ready bool, status string, stores []string) TemplateState {
	if ready {
		return TemplateState{Stage: StageReady, Percent: 100}
	}
	if stage, fault, ok := statusStage(strings.TrimSpace(status)); ok {
		return TemplateState{Stage: stage, Fault: fault}
	}
	if percent, ok := statusPercent(status); ok {
		return TemplateState{Stage: StageDownloading, Percent: percent}
	}
	if fault := FaultOf(status); fault != FaultUnknown {
		return TemplateState{Stage: StageFailed, Fault: fault, Message: status}
	}
	switch {
	case slices.Contains(stores, "DOWNLOAD_ERROR"):
		return TemplateState{Stage: StageFailed, Fault: FaultUnknown, Message: status}
	case slices.Contains(stores, "DOWNLOAD_IN_PROGRESS"):
		return TemplateState{Stage: StageDownloading}
	case isStateName(status):
		return TemplateState{Stage: StageWaiting}
	}
	return TemplateState{Stage: StageFailed, Fault: FaultUnknown, Message: status}
}
