package cloudstack_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/capcat/capcat/controllers/cloudstack"
)

func TestKindsOfRefusals(t *testing.T) {
	const key = "registertemplateresponse"
	template := cloudstack.NewTemplate{Name: "n", DisplayText: "n", ZoneID: "z", Hypervisor: "KVM", Format: "QCOW2", OSTypeID: "o"}
	tests := map[string]struct {
		answer http.HandlerFunc
		kind   cloudstack.Kind
		retry  cloudstack.Retry
	}{
		"wrong secret":          {refuses(key, 401, 0, "unable to verify user credentials and/or request signature"), cloudstack.Unauthorized, cloudstack.RetrySlow},
		"not in the role":       {refuses("errorresponse", 432, 9999, "The API [registerTemplate] does not exist or is not available"), cloudstack.NotPermitted, cloudstack.RetrySlow},
		"throttled":             {refuses(key, 429, 9999, "please retry after [1500] ms."), cloudstack.Throttled, cloudstack.RetryBackoff},
		"missing parameter":     {refuses(key, 431, 9999, "due to missing parameter name"), cloudstack.Invalid, cloudstack.RetryNever},
		"unknown id":            {refuses(key, 431, 9999, "Invalid parameter zoneid value=z due to incorrect long value format, or entity does not exist"), cloudstack.NotFound, cloudstack.RetrySlow},
		"removed id":            {refuses(key, 431, 4350, "Unable to find UUID for id [7] of type [DataCenter]"), cloudstack.NotFound, cloudstack.RetrySlow},
		"maintenance":           {refuses(key, 503, 9999, "Maintenance or Shutdown has been initiated"), cloudstack.Unavailable, cloudstack.RetryBackoff},
		"internal":              {refuses(key, 530, 4250, "Internal error executing command"), cloudstack.Internal, cloudstack.RetryBackoff},
		"no permission":         {refuses(key, 531, 4365, "Caller does not have permission"), cloudstack.Forbidden, cloudstack.RetrySlow},
		"zone disabled":         {refuses(key, 531, 4365, `Cannot perform this operation, Zone Zone {"id": "2"} is currently disabled`), cloudstack.ZoneDisabled, cloudstack.RetrySlow},
		"limit":                 {refuses(key, 535, 4370, "Maximum amount of resources of Type = 'template' is exceeded"), cloudstack.Quota, cloudstack.RetrySlow},
		"capacity":              {refuses(key, 533, 9999, "Insufficient capacity"), cloudstack.Capacity, cloudstack.RetrySlow},
		"in use":                {refuses(key, 536, 4375, "in use"), cloudstack.InUse, cloudstack.RetrySlow},
		"conflict":              {refuses(key, 537, 4360, "conflict"), cloudstack.Conflict, cloudstack.RetrySlow},
		"page of a proxy":       {says(502, "<html>Bad Gateway</html>"), cloudstack.LostReply, cloudstack.RetryBackoff},
		"wrong path":            {says(404, "<html>Not Found</html>"), cloudstack.Unavailable, cloudstack.RetryBackoff},
		"empty body":            {says(200, ""), cloudstack.LostReply, cloudstack.RetryBackoff},
		"half a body":           {says(200, `{"registertemplateresponse":{"count":1,`), cloudstack.LostReply, cloudstack.RetryBackoff},
		"something else":        {says(200, `{"registertemplateresponse":{"count":0,"template":[]}}`), cloudstack.LostReply, cloudstack.RetryBackoff},
		"two keys on the top":   {says(200, `{"count":0,"template":[]}`), cloudstack.LostReply, cloudstack.RetryBackoff},
		"unknown status, empty": {says(500, ""), cloudstack.LostReply, cloudstack.RetryBackoff},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s := newStub(t)
			s.on("registerTemplate", tc.answer)
			_, err := session(t, s).RegisterTemplate(t.Context(), template, "http://h/i.qcow2", "")
			if cloudstack.KindOf(err) != tc.kind {
				t.Fatalf("error %v of kind %q, want %q", err, cloudstack.KindOf(err), tc.kind)
			}
			var e *cloudstack.Error
			if !asError(err, &e) || e.Retry() != tc.retry || e.Command != "registerTemplate" {
				t.Errorf("error %+v, want retry %s of registerTemplate", e, tc.retry)
			}
		})
	}
}

func TestLostReplyOrUnavailable(t *testing.T) {
	cut := func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			_ = conn.Close()
		}
	}
	s := newStub(t)
	s.on("deleteTemplate", cut)
	s.on("listZones", cut)
	cloud := session(t, s)
	if _, err := cloud.DeleteTemplate(t.Context(), cloudstack.Owner{}, "z", "t"); !cloudstack.Is(err, cloudstack.LostReply) {
		t.Errorf("a cut change gives %v, want LostReply", err)
	}
	if _, err := cloud.Zones(t.Context()); !cloudstack.Is(err, cloudstack.Unavailable) {
		t.Errorf("a cut list gives %v, want Unavailable", err)
	}
	s.Close()
	if _, err := cloud.DeleteTemplate(t.Context(), cloudstack.Owner{}, "z", "t"); !cloudstack.Is(err, cloudstack.Unavailable) {
		t.Errorf("a change that was never sent gives %v, want Unavailable", err)
	}
}

func TestErrorsHoldNoSecrets(t *testing.T) {
	secret := "unable to use the-api-key or the-secret-key at http://user:pass@host.example.org/a/token/x.qcow2?sig=abc " +
		`for Account [{"accountName":"other","uuid":"316bf5fb-b722-4b4f-b378-7418a6f107fd"}]`
	s := newStub(t)
	s.on("listZones", refuses("listzonesresponse", 531, 4365, secret))
	_, err := session(t, s).Zones(t.Context())
	text := err.Error()
	for _, hidden := range []string{"the-api-key", "the-secret-key", "user:pass", "token", "sig=", "316bf5fb", "signature"} {
		if strings.Contains(text, hidden) {
			t.Errorf("the error tells %q: %s", hidden, text)
		}
	}
	if !strings.Contains(text, "http://host.example.org/.../x.qcow2") {
		t.Errorf("the error does not name the file: %s", text)
	}
	s.Close()
	_, err = session(t, s).Zones(t.Context())
	if strings.Contains(err.Error(), "the-api-key") || strings.Contains(err.Error(), "signature") {
		t.Errorf("the error of the network tells the call: %v", err)
	}
	if text := fmt.Sprintf("%v %+v %#v", config("http://h"), config("http://h"), config("http://h")); strings.Contains(text, "key") {
		t.Errorf("a printed config tells its keys: %s", text)
	}
}

func TestErrorTextsAreStable(t *testing.T) {
	s := newStub(t)
	n := 0
	s.on("listZones", func(w http.ResponseWriter, r *http.Request) {
		n++
		text := fmt.Sprintf("not available for the account for user id [%08d-b722-4b4f-b378-7418a6f107fd]", n)
		refuses("errorresponse", 432, 9999, text)(w, r)
	})
	cloud := session(t, s)
	_, first := cloud.Zones(t.Context())
	_, second := cloud.Zones(t.Context())
	if first.Error() != second.Error() {
		t.Errorf("two refusals of one meaning differ:\n%v\n%v", first, second)
	}
}

func TestThrottlingTellsHowLong(t *testing.T) {
	tests := map[string]struct {
		text   string
		header string
		want   time.Duration
	}{
		"in the text":   {text: "please retry after [2500] ms.", want: 2500 * time.Millisecond},
		"in the header": {text: "slow down", header: "7", want: 7 * time.Second},
		"nowhere":       {text: "slow down", want: time.Second},
		"nonsense":      {text: "please retry after [soon] ms.", header: "later", want: time.Second},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s := newStub(t)
			s.on("listZones", func(w http.ResponseWriter, r *http.Request) {
				if tc.header != "" {
					w.Header().Set("Retry-After", tc.header)
				}
				refuses("listzonesresponse", 429, 9999, tc.text)(w, r)
			})
			_, err := session(t, s).Zones(t.Context())
			if got := cloudstack.AfterOf(err); got != tc.want {
				t.Errorf("wait %s, want %s", got, tc.want)
			}
		})
	}
}

func TestFaultOf(t *testing.T) {
	tests := map[string]cloudstack.Fault{
		"Failed to download http://h/i.qcow2 due to redirection, response code: 302":              cloudstack.FaultRedirect,
		" HTTP Server returned 307 (expected 200 OK) ":                                            cloudstack.FaultRedirect,
		" HTTP Server returned 404 (expected 200 OK) ":                                            cloudstack.FaultMissing,
		" HTTP Server returned 403 (expected 200 OK) ":                                            cloudstack.FaultForbidden,
		" HTTP Server returned 503 (expected 200 OK) ":                                            cloudstack.FaultUnreachable,
		" Failed to receive length of download ":                                                  cloudstack.FaultNoLength,
		"Download file size is too large":                                                         cloudstack.FaultTooLarge,
		"Connection refused":                                                                      cloudstack.FaultUnreachable,
		"Connection reset":                                                                        cloudstack.FaultInterrupted,
		"HTTP Server does not support partial get":                                                cloudstack.FaultInterrupted,
		"PKIX path building failed: x":                                                            cloudstack.FaultTLS,
		"invalid algorithm: {CRC32}12345678":                                                      cloudstack.FaultChecksumForm,
		"Failed to install: Template content is unsupported, or mismatch between selected format": cloudstack.FaultContent,
		`Failed post download script: checksum "{MD5}a" didn't match the given value, "{MD5}b"`:   cloudstack.FaultChecksum,
		"Failed post download script: failed to uncompress /mnt/x":                                cloudstack.FaultContent,
		"Failed post download script: The downloaded file is not a valid QCOW2. Ask the administrator to check the logs": cloudstack.FaultContent,
		"Failed post download script: Unable to install due to invalid file format":                                      cloudstack.FaultContent,
		"Failed post download script: something new":                                                                     cloudstack.FaultInstall,
		"signature validation failed.":                                                                                   cloudstack.FaultUploadRefused,
		"something nobody has seen":                                                                                      cloudstack.FaultUnknown,
		"":                                                                                                               cloudstack.FaultUnknown,
	}
	for text, want := range tests {
		if got := cloudstack.FaultOf(text); got != want {
			t.Errorf("FaultOf(%q) = %s, want %s", text, got, want)
		}
	}
}
