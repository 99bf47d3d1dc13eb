package cloudstack

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Kind is what a failed call means to its caller.
type Kind string

// The kinds of failure. This file is the only place that reads the texts of CloudStack.
const (
	// NotFound: the thing does not exist, was removed or cannot be seen.
	NotFound Kind = "NotFound"
	// Ambiguous: several things fit where one was asked for.
	Ambiguous Kind = "Ambiguous"
	// Unauthorized: the credentials are not accepted; CloudStack does not tell why.
	Unauthorized Kind = "Unauthorized"
	// NotPermitted: the role does not allow the API, or this server does not know it.
	NotPermitted Kind = "NotPermitted"
	// Forbidden: the API is allowed, the account, project or resource is not.
	Forbidden Kind = "Forbidden"
	// Throttled: too many calls; After tells when to go on.
	Throttled Kind = "Throttled"
	// Quota: a limit of the account, domain or project is reached.
	Quota Kind = "Quota"
	// Capacity: the zone has no room.
	Capacity Kind = "Capacity"
	// Conflict: something else stands where this should go.
	Conflict Kind = "Conflict"
	// InUse: something still uses it.
	InUse Kind = "InUse"
	// Busy: CloudStack is still working on it and takes the call later.
	Busy Kind = "Busy"
	// Invalid: the request is refused as it is.
	Invalid Kind = "Invalid"
	// ZoneDisabled: the zone takes no new work.
	ZoneDisabled Kind = "ZoneDisabled"
	// Unavailable: the server could not be reached or answered that it cannot serve; nothing took effect.
	Unavailable Kind = "Unavailable"
	// LostReply: the call was sent and no usable answer came. It may have taken effect, or still do so.
	LostReply Kind = "LostReply"
	// Internal: the server failed; whether the call took effect must be looked up.
	Internal Kind = "Internal"
)

// Retry says when another try makes sense.
type Retry string

// The retry classes.
const (
	// RetryBackoff: soon, with growing pauses.
	RetryBackoff Retry = "Backoff"
	// RetrySlow: when a person or time has changed something; minutes.
	RetrySlow Retry = "Slow"
	// RetryNever: not before the request changes.
	RetryNever Retry = "Never"
)

// Error is a failed call. Its text holds no key, signature, user, query or random id.
type Error struct {
	Kind Kind
	// Command is the API command, such as registerTemplate.
	Command string
	// HTTP is the status of the reply or the code of a job; 0 when there was none.
	HTTP int
	// Code is CloudStack's cserrorcode; 0 when absent.
	Code int
	// Text is what the server said, redacted.
	Text string
	// After is how long the server asks to wait; 0 when it does not.
	After time.Duration
	// Err is the cause below the API: a network fault or the end of the context.
	Err error
}

func (e *Error) Error() string {
	text := e.Text
	if text == "" && e.Err != nil {
		text = e.Err.Error()
	}
	if e.HTTP != 0 {
		return fmt.Sprintf("%s: %s (%d/%d): %s", e.Command, e.Kind, e.HTTP, e.Code, text)
	}
	return fmt.Sprintf("%s: %s: %s", e.Command, e.Kind, text)
}

// Unwrap returns the cause below the API.
func (e *Error) Unwrap() error { return e.Err }

// Retry tells when another try makes sense.
func (e *Error) Retry() Retry {
	switch e.Kind {
	case Invalid:
		return RetryNever
	case Unauthorized, NotPermitted, Forbidden, Quota, Capacity, Conflict, InUse, ZoneDisabled, NotFound, Ambiguous:
		return RetrySlow
	}
	return RetryBackoff
}

// KindOf returns the kind of the first Error in err's chain, and "" if there is none.
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return ""
}

// Is tells whether err holds an Error of that kind.
func Is(err error, kind Kind) bool { return KindOf(err) == kind }

func newError(kind Kind, command, format string, args ...any) *Error {
	return &Error{Kind: kind, Command: command, Text: fmt.Sprintf(format, args...)}
}

// wireError is the body of a refusal.
type wireError struct {
	HTTP int
	Code int
	Text string
}

// classify is the one table from codes, and where codes say too little texts, to kinds.
func classify(w wireError) Kind {
	if kind := classifyText(w); kind != "" {
		return kind
	}
	switch w.HTTP {
	case http.StatusUnauthorized:
		return Unauthorized
	case http.StatusTooManyRequests:
		return Throttled
	case http.StatusBadRequest, http.StatusMethodNotAllowed, 430, 431:
		return Invalid
	case http.StatusLengthRequired:
		return Unauthorized
	case 432:
		return NotPermitted
	case http.StatusServiceUnavailable, 534:
		return Unavailable
	case 531:
		return Forbidden
	case 532, 535:
		return Quota
	case 533:
		return Capacity
	case 536:
		return InUse
	case 537:
		return Conflict
	}
	return Internal
}

// textRule gives a kind to replies whose code alone is too coarse. An empty codes list means any.
type textRule struct {
	codes    []int
	fragment string
	kind     Kind
}

func textRules() []textRule {
	return []textRule{
		{[]int{431}, "entity does not exist", NotFound},
		{[]int{431}, "Unable to find UUID for id", NotFound},
		{[]int{431}, "Unable to find project by id", NotFound},
		{[]int{431}, "Unable to find account", NotFound},
		{[]int{431, 530}, "Unable to find resource by", NotFound},
		{[]int{431}, "doesn't exist", NotFound},
		{[]int{431}, "Unable to find network", NotFound},
		{[]int{431}, "Unable to find volume", NotFound},
		{[]int{431}, "find a virtual machine with id", NotFound},
		{[]int{431}, "Unable to find affinity group", NotFound},
		{[]int{431}, "Not all specified keypair", NotFound},
		{[]int{431}, "Not all specified keyparis", NotFound},
		{[]int{431}, "offering is inactive", NotFound},
		{[]int{431}, "Unable to find service offering", NotFound},
		{[]int{431}, "Unable to use template", NotFound},
		{[]int{530}, "Failed to delete tags", NotFound},
		{[]int{431}, "already exists", Conflict},
		{[]int{431}, "conflicts with existing rule", Conflict},
		{[]int{431}, "is already running", Conflict},
		{[]int{431}, "are not DATADISK attached", Conflict},
		{[]int{530}, "Failed to delete network", InUse},
		{[]int{530}, "used for source nat purposes", InUse},
		{[]int{431}, "invalid IP address ID", Busy},
		{[]int{431}, "not ready for firewall rules yet", Busy},
		{[]int{431}, "Unable to create firewall rule for the IP address", Busy},
		{[]int{530}, "Unable to create a deployment", Capacity},
		{[]int{530}, "Insufficient address capacity", Capacity},
		{[]int{530}, "Unable to acquire Guest IP", Capacity},
		{[]int{431}, "has delete protection enabled", Forbidden},
		{[]int{431, 530, 531}, "Parameter expunge can be passed by Admin only", Forbidden},
		{[]int{530}, "already on", Conflict},
		{[]int{431, 530}, "are using it", InUse},
		{[]int{431, 530}, "getting uploaded", Busy},
		{[]int{431, 530}, "being downloaded", Busy},
		{[]int{530, 531}, "currently disabled", ZoneDisabled},
		{[]int{530}, "does not have permission", Forbidden},
		{[]int{530, 431}, "Maximum ", Quota},
		{[]int{530}, "unable to find an api by that name", NotFound},
		{[]int{401}, "does not exist, is not available for user", NotPermitted},
	}
}

func classifyText(w wireError) Kind {
	for _, rule := range textRules() {
		for _, code := range rule.codes {
			if code == w.HTTP && strings.Contains(w.Text, rule.fragment) {
				return rule.kind
			}
		}
	}
	return ""
}

// throttlePause reads how long a 429 asks to wait; ok is false when it does not say.
func throttlePause(text string) (pause time.Duration, ok bool) {
	_, rest, found := strings.Cut(text, "retry after [")
	number, _, closed := strings.Cut(rest, "]")
	if !found || !closed {
		return 0, false
	}
	ms, err := strconv.ParseInt(strings.TrimSpace(number), 10, 32)
	if err != nil || ms < 0 {
		return 0, false
	}
	return time.Duration(ms) * time.Millisecond, true
}

// allowedPageSize reads the cap out of a refused page size; ok is false for any other refusal.
func allowedPageSize(err error) (size int, ok bool) {
	var e *Error
	if !errors.As(err, &e) || e.HTTP != 431 {
		return 0, false
	}
	_, number, found := strings.Cut(e.Text, "max allowed page size value: ")
	size, convErr := strconv.Atoi(strings.TrimSpace(number))
	return size, found && convErr == nil && size > 0
}

// UserDataLimit reads out of a refused deployment how long user data may be, in bytes after base64; ok is false for any
// other error.
func UserDataLimit(err error) (bytes int, ok bool) {
	var e *Error
	if !errors.As(err, &e) || e.HTTP != 431 {
		return 0, false
	}
	_, number, found := strings.Cut(e.Text, "User data has exceeded configurable max length:")
	bytes, convErr := strconv.Atoi(strings.Trim(number, " ."))
	return bytes, found && convErr == nil && bytes > 0
}

const maxErrorText = 512

// redactor cleans texts of the server of everything that is secret or changes from call to call.
type redactor struct{ secrets *strings.Replacer }

func newRedactor(secrets ...string) redactor {
	var pairs []string
	for _, s := range secrets {
		if len(s) >= 4 {
			pairs = append(pairs, s, "[redacted]")
		}
	}
	return redactor{secrets: strings.NewReplacer(pairs...)}
}

// text shortens a text of the server to something fit for a condition.
func (r redactor) text(s string) string {
	s = r.secrets.Replace(s)
	s = urlPattern().ReplaceAllStringFunc(s, redactURL)
	s = randomPattern().ReplaceAllString(s, "[...]")
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > maxErrorText {
		s = strings.ToValidUTF8(s[:maxErrorText], "") + "..."
	}
	return s
}

// AfterOf returns how long the server asked to wait; 0 when it did not.
func AfterOf(err error) time.Duration {
	var e *Error
	if errors.As(err, &e) {
		return e.After
	}
	return 0
}

// statusStage gives the stage for the status texts that are a word of CloudStack's own.
func statusStage(status string) (stage TemplateStage, fault Fault, ok bool) {
	switch status {
	case "Installing Template":
		return StageInstalling, NoFault, true
	case "Download Complete", "Successfully Installed", "Bypassed Secondary Storage":
		// The row says so a moment before isready does.
		return StageInstalling, NoFault, true
	case "NotUploaded":
		return StageAwaitingUpload, NoFault, true
	case "UploadInProgress":
		return StageUploading, NoFault, true
	case "UploadAbandoned", "UploadError":
		return StageAbandoned, FaultUploadRefused, true
	case "Failed":
		return StageFailed, FaultUnknown, true
	}
	return "", NoFault, false
}

// isStateName tells whether a status is a bare state name, as it stands while nothing has begun.
func isStateName(status string) bool {
	status = strings.TrimSpace(status)
	if status == "" {
		return true
	}
	for _, r := range status {
		if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && r != '_' {
			return false
		}
	}
	return true
}

// statusPercent reads "37% Downloaded". A source that sends more than it announced goes beyond 100.
func statusPercent(status string) (percent int32, ok bool) {
	number, rest, found := strings.Cut(strings.TrimSpace(status), "%")
	if !found || !strings.EqualFold(strings.TrimSpace(rest), "downloaded") {
		return 0, false
	}
	n, err := strconv.Atoi(strings.TrimSpace(number))
	if err != nil {
		return 0, false
	}
	return int32(min(max(n, 0), 100)), true
}

// faultRule gives a fault to the texts that contain the fragment, case ignored. The first that fits counts.
type faultRule struct {
	fragment string
	fault    Fault
}

func faultRules() []faultRule {
	return []faultRule{
		{"didn't match the given value", FaultChecksum},
		{"checksum algorithm not recogni", FaultChecksumForm},
		{"invalid algorithm", FaultChecksumForm},
		{"digest length should be", FaultChecksumForm},
		{"failed to receive length", FaultNoLength},
		{"due to redirection", FaultRedirect},
		{"circular redirect", FaultRedirect},
		{"http server returned 30", FaultRedirect},
		{"http server returned 401", FaultForbidden},
		{"http server returned 403", FaultForbidden},
		{"http server returned 407", FaultForbidden},
		{"http server returned 404", FaultMissing},
		{"http server returned 410", FaultMissing},
		{"http server returned", FaultUnreachable},
		{"connection refused", FaultUnreachable},
		{"no route to host", FaultUnreachable},
		{"unable to resolve", FaultUnreachable},
		{"timed out", FaultUnreachable},
		{"timeout", FaultUnreachable},
		{"failed to respond", FaultUnreachable},
		{"network is unreachable", FaultUnreachable},
		{"unknown host", FaultUnreachable},
		{"illegal host", FaultUnreachable},
		{"invalid host", FaultUnreachable},
		{"connection reset", FaultInterrupted},
		{"partial get", FaultInterrupted},
		{"chunked stream ended", FaultInterrupted},
		{"incomplete download", FaultInterrupted},
		{"socket closed", FaultInterrupted},
		{"closed prematurely", FaultInterrupted},
		{"pkix", FaultTLS},
		{"sslhandshake", FaultTLS},
		{"file size is too large", FaultTooLarge},
		{"maximum file upload size", FaultTooLarge},
		{"maximum number of resources", FaultQuota},
		{"resource limit", FaultQuota},
		{"template content is unsupported", FaultContent},
		{"file type mismatch", FaultContent},
		{"not a valid qcow2", FaultContent},
		{"failed to uncompress", FaultContent},
		{"unable to install due to invalid file format", FaultContent},
		{"untar ova", FaultContent},
		{"unable to locate ovf", FaultContent},
		{"failed post download script", FaultInstall},
		{"failed to install", FaultInstall},
		{"createtmplt.sh", FaultInstall},
		{"stream closed", FaultInstall},
		{"signature", FaultUploadRefused},
		{"request not valid anymore", FaultUploadRefused},
		{"post url is already used", FaultUploadRefused},
		{"content length is not set", FaultUploadRefused},
		{"deserialize metadata", FaultUploadRefused},
		{"received entity is not a file", FaultUploadRefused},
	}
}

// FaultOf reads what was wrong from the error text of a template, or from the answer to an upload.
func FaultOf(text string) Fault {
	text = strings.ToLower(text)
	for _, rule := range faultRules() {
		if strings.Contains(text, rule.fragment) {
			return rule.fault
		}
	}
	return FaultUnknown
}
