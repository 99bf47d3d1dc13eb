package image

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/capcat/capcat/controllers/cloudstack"
)

const content = "the content of an image"

// post uploads content to a storage VM that answers as the test says.
func postContent(t *testing.T, answer http.HandlerFunc, change func(*cloudstack.Config)) ([]int64, error) {
	t.Helper()
	vm := httptest.NewTLSServer(answer)
	defer vm.Close()
	c := cloudstack.Config{UID: "u", Revision: "1", URL: "http://h.example.org", APIKey: "key1", SecretKey: "secret", InsecureSkipVerify: true}
	if change != nil {
		change(&c)
	}
	sessions, err := cloudstack.NewSessions(cloudstack.Options{})
	if err != nil {
		t.Fatal(err)
	}
	session, err := sessions.For(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	u := upload{
		permit:  cloudstack.Upload{PostURL: vm.URL + "/upload/uuid", Signature: "sig", Metadata: "meta", Expires: "2026-11-30T16:06:00.000Z"},
		session: session, name: "abc.qcow2", answerTime: time.Minute,
	}
	var progress []int64
	err = u.send(t.Context(), strings.NewReader(content), int64(len(content)), func(n int64) { progress = append(progress, n) })
	return progress, err
}

func TestUploadIsWhatTheStorageVMTakes(t *testing.T) {
	var got map[string]string
	progress, err := postContent(t, func(_ http.ResponseWriter, r *http.Request) {
		reader, err := r.MultipartReader()
		if err != nil {
			t.Error(err)
			return
		}
		part, err := reader.NextPart()
		if err != nil {
			t.Error(err)
			return
		}
		body, _ := io.ReadAll(part)
		_, last := reader.NextPart()
		got = map[string]string{
			"method": r.Method, "path": r.URL.Path, "file": part.FileName(), "sum": fmt.Sprintf("%x", sha256.Sum256(body)),
			"signature": r.Header.Get("X-Signature"), "metadata": r.Header.Get("X-Metadata"), "expires": r.Header.Get("X-Expires"),
			"expect": r.Header.Get("Expect"), "chunked": fmt.Sprint(r.TransferEncoding), "length": fmt.Sprint(r.ContentLength > int64(len(content))),
			"last": fmt.Sprint(last == io.EOF), "version": r.Proto,
		}
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"method": "POST", "path": "/upload/uuid", "file": "abc.qcow2", "sum": fmt.Sprintf("%x", sha256.Sum256([]byte(content))),
		"signature": "sig", "metadata": "meta", "expires": "2026-11-30T16:06:00.000Z", "expect": "", "chunked": "[]", "length": "true",
		"last": "true", "version": "HTTP/1.1",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the request (-want +got):\n%s", diff)
	}
	if len(progress) == 0 || progress[len(progress)-1] != int64(len(content)) {
		t.Errorf("progress %v, want it to end at %d", progress, len(content))
	}
}

func TestUploadFailures(t *testing.T) {
	hangUp := func(read bool) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if read {
				_, _ = io.Copy(io.Discard, r.Body)
			}
			if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
				_ = conn.Close()
			}
		}
	}
	answer := func(status int, kind, text string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			w.Header().Set("Content-Type", kind)
			w.WriteHeader(status)
			fmt.Fprint(w, text)
		}
	}
	tests := map[string]struct {
		answer http.HandlerFunc
		change func(*cloudstack.Config)
		lost   bool
		fault  cloudstack.Fault
		says   string
	}{
		"refused": {answer: answer(400, "text/plain", "signature validation failed."), fault: cloudstack.FaultUploadRefused, says: "400"},
		"not an image": {
			answer: answer(500, "text/plain", "The uploaded file is not a valid QCOW2. Ask the administrator"), fault: cloudstack.FaultContent, says: "500",
		},
		"too large": {answer: answer(400, "text/plain", "Maximum file upload size exceeded. Content Length received: 3GB."), fault: cloudstack.FaultTooLarge},
		"the server in front": {
			answer: answer(502, "text/html", "<html>secret internals</html>"), fault: cloudstack.FaultUnknown, says: "a page of the server in front",
		},
		"a redirect is not followed": {
			answer: func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
			}, says: "307",
		},
		"hung up after everything was sent": {answer: hangUp(true), lost: true},
		"an unknown certificate": {
			answer: answer(200, "", ""), change: func(c *cloudstack.Config) { c.InsecureSkipVerify = false }, says: "certificate",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := postContent(t, tc.answer, tc.change)
			if err == nil {
				t.Fatal("no error")
			}
			if errors.Is(err, errAnswerLost) != tc.lost {
				t.Errorf("error %v, lost answer %t", err, tc.lost)
			}
			var refused *uploadRefused
			if tc.fault != "" && (!errors.As(err, &refused) || cloudstack.FaultOf(refused.text) != tc.fault) {
				t.Errorf("error %v, want fault %s", err, tc.fault)
			}
			if !strings.Contains(err.Error(), tc.says) || strings.Contains(err.Error(), "/upload/") || strings.Contains(err.Error(), "secret") {
				t.Errorf("error %q, want it to say %q and no address", err, tc.says)
			}
		})
	}
}

// TestUploadWaitsForTheInstall: the storage VM answers when the template is installed, long after the last byte.
func TestUploadWaitsForTheInstall(t *testing.T) {
	var alarms []time.Duration
	w := &watchedReader{
		r: strings.NewReader(content), size: int64(len(content)), progress: func(int64) {}, answerTime: 3 * time.Hour,
		putOff: func(d time.Duration) { alarms = append(alarms, d) },
	}
	buf := make([]byte, 10)
	for w.total.Load() < w.size {
		if _, err := w.Read(buf); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]time.Duration{uploadStall, uploadStall, 3 * time.Hour}, alarms); diff != "" {
		t.Errorf("alarms (-want +got):\n%s", diff)
	}
}
