package cloudsim_test

import (
	"bytes"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/capcat/capcat/test/cloudsim"
)

// tinyQCOW2 is an empty image of 1 MiB.
func tinyQCOW2() []byte {
	image := make([]byte, 4*65536)
	copy(image, "QFI\xfb")
	be := binary.BigEndian
	be.PutUint32(image[4:], 3)
	be.PutUint32(image[20:], 16)      // cluster bits
	be.PutUint64(image[24:], 1<<20)   // virtual size
	be.PutUint32(image[36:], 1)       // L1 entries
	be.PutUint64(image[40:], 3*65536) // L1 table
	be.PutUint64(image[48:], 65536)   // refcount table
	be.PutUint32(image[56:], 1)
	be.PutUint32(image[96:], 4) // refcount order
	be.PutUint32(image[100:], 104)
	be.PutUint64(image[65536:], 2*65536)
	for i := range 4 {
		be.PutUint16(image[2*65536+2*i:], 1)
	}
	return image
}

// source is an image server that notes what it is asked for.
type source struct {
	*httptest.Server
	mu       sync.Mutex
	requests []string
}

func newSource(t *testing.T, files map[string][]byte) *source {
	t.Helper()
	s := &source{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.requests = append(s.requests, r.Method+" "+r.URL.Path)
		s.mu.Unlock()
		data, ok := files[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Length", fmt.Sprint(len(data)))
		if r.Method == http.MethodGet {
			_, _ = w.Write(data)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *source) seen() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// demo is a player on the demo preset that knows a source by a public name.
func demo(t *testing.T, src *source) *player {
	t.Helper()
	clock := cloudsim.NewManualClock(start())
	sim, err := cloudsim.New(cloudsim.Options{Clock: clock, Resolve: map[string]string{"images.example.org": strings.TrimPrefix(src.URL, "http://")}})
	if err != nil {
		t.Fatal(err)
	}
	return playerOn(t, sim, clock)
}

// call sends a command as the tenant and returns what is inside the envelope.
func (p *player) call(command string, params map[string]string) map[string]any {
	p.t.Helper()
	method := "POST"
	if strings.HasPrefix(command, "list") || strings.HasPrefix(command, "query") {
		method = "GET"
	}
	got := p.send(&step{As: "tenant", Method: method, Sign: "ok", Command: &command, Params: params})
	envelope, _ := got.body.(map[string]any)
	for _, inner := range envelope {
		if o, ok := inner.(map[string]any); ok {
			return o
		}
	}
	p.t.Fatalf("%s: %d %v", command, got.status, got.body)
	return nil
}

func (p *player) kvm(name, path string, more map[string]string) map[string]string {
	out := map[string]string{"name": name, "displaytext": name, "url": "http://images.example.org" + path, "format": "QCOW2", "hypervisor": "KVM",
		"ostypeid": p.seeded("ostype/Ubuntu 22.04 LTS"), "zoneid": p.seeded("zone/zone-kvm")}
	maps.Copy(out, more)
	return out
}

func (p *player) template(id string) map[string]any {
	p.t.Helper()
	list := p.call("listTemplates", map[string]string{"templatefilter": "self", "id": id})
	row, ok := dig(list, "template.0").(map[string]any)
	if !ok {
		p.t.Fatalf("no template %s: %v", id, list)
	}
	return row
}

func TestRegisterFetchesOnce(t *testing.T) {
	image := tinyQCOW2()
	src := newSource(t, map[string][]byte{"/a.qcow2": image})
	p := demo(t, src)
	sum := sha256.Sum256(image)
	reply := p.call("registerTemplate", p.kvm("a", "/a.qcow2", map[string]string{"checksum": "{SHA-256}" + hex.EncodeToString(sum[:]), "details[0].capcat.owner": "me"}))
	id := fmt.Sprint(dig(reply, "template.0.id"))
	if ready := dig(reply, "template.0.isready"); ready != false {
		t.Errorf("ready at once: %v", ready)
	}
	p.advance(5 * time.Second)
	row := p.template(id)
	got := map[string]any{}
	for _, k := range []string{"isready", "status", "size", "checksum", "details"} {
		got[k] = row[k]
	}
	want := map[string]any{"isready": true, "status": "Download Complete", "size": float64(1 << 20), "checksum": hex.EncodeToString(sum[:]), "details": map[string]any{"capcat.owner": "me"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("template (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"HEAD /a.qcow2", "GET /a.qcow2"}, src.seen()); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

func TestFailedDownloadStaysWithItsText(t *testing.T) {
	src := newSource(t, map[string][]byte{"/page.qcow2": []byte(strings.Repeat("<!DOCTYPE html><html><body>sorry</body></html>\n", 40)), "/a.qcow2": tinyQCOW2()})
	cases := map[string]struct {
		path, checksum, status string
	}{
		"missing":       {"/none.qcow2", "", " HTTP Server returned 404 (expected 200 OK) "},
		"a page":        {"/page.qcow2", "", "Failed to install: Template content is unsupported, or mismatch between selected format and template content. Found  : HTML document, ASCII text"},
		"bad checksum":  {"/a.qcow2", "{MD5}00", "Failed post download script: checksum"},
		"odd algorithm": {"/a.qcow2", "{CRC32}12345678", "invalid algorithm: {CRC32}12345678"},
	}
	p := demo(t, src)
	ids := map[string]string{}
	for name, c := range cases {
		ids[name] = fmt.Sprint(dig(p.call("registerTemplate", p.kvm(name, c.path, map[string]string{"checksum": c.checksum})), "template.0.id"))
	}
	p.advance(5 * time.Second)
	p.advance(10 * time.Second)
	for name, c := range cases {
		row := p.template(ids[name])
		if s, _ := row["status"].(string); row["isready"] != false || !strings.HasPrefix(s, c.status) {
			t.Errorf("%s: ready %v, status %q", name, row["isready"], row["status"])
		}
	}
}

func TestRefusedSources(t *testing.T) {
	p := demo(t, newSource(t, nil))
	for name, c := range map[string]struct{ url, text string }{
		"loopback":        {"http://127.0.0.1:8000/a.qcow2", "Illegal host specified in URL."},
		"unspecified":     {"http://0.0.0.0/a.qcow2", "Illegal host specified in URL."},
		"link local":      {"http://169.254.1.1/a.qcow2", "Illegal host specified in URL."},
		"IPv6":            {"http://[2001:db8::1]/a.qcow2", "IPv6 addresses are not supported (2001:db8:0:0:0:0:0:1)."},
		"no suffix":       {"http://images.example.org/a", "Please specify a valid qcow2"},
		"zst":             {"http://images.example.org/a.qcow2.zst", "Please specify a valid qcow2"},
		"other format":    {"http://images.example.org/a.vhd.gz", "Please specify a valid URL. URL:/a.vhd.gz is an invalid for the format qcow2"},
		"suffix in query": {"http://images.example.org/a?x=.qcow2", "Please specify a valid qcow2"},
		"ftp":             {"ftp://images.example.org/a.qcow2", "Unsupported scheme for url: ftp://images.example.org/a.qcow2"},
	} {
		got := p.call("registerTemplate", p.kvm(name, "", map[string]string{"url": c.url}))
		if got["errortext"] != c.text {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestUploadOnce(t *testing.T) {
	p := demo(t, newSource(t, nil))
	params := p.kvm("up", "", nil)
	delete(params, "url")
	up, ok := p.call("getUploadParamsForTemplate", params)["getuploadparams"].(map[string]any)
	if !ok {
		t.Fatal("no upload parameters")
	}
	id := fmt.Sprint(up["id"])
	if row := p.template(id); row["status"] != "NotUploaded" || row["isready"] != false {
		t.Errorf("before the upload: %v %v", row["status"], row["isready"])
	}
	if job := p.runJob("deleteTemplate", map[string]string{"id": id}); job["jobresultcode"] != 431.0 {
		t.Errorf("deleting while waiting: %v", job)
	}
	status, text := post(t, p.sim.UploadCA(), up, "up.qcow2", tinyQCOW2())
	if status != 200 || text != "upload successful." {
		t.Fatalf("upload: %d %q", status, text)
	}
	p.advance(61 * time.Second)
	if row := p.template(id); row["status"] != "Download Complete" || row["isready"] != true || row["size"] != float64(1<<20) {
		t.Errorf("after the upload: %v %v %v", row["status"], row["isready"], row["size"])
	}
	if status, text := post(t, p.sim.UploadCA(), up, "up.qcow2", tinyQCOW2()); status != 400 || !strings.HasPrefix(text, "The one time post url is already used") {
		t.Errorf("second upload: %d %q", status, text)
	}
}

func TestAbandonedUpload(t *testing.T) {
	p := demo(t, newSource(t, nil))
	params := p.kvm("up", "", nil)
	delete(params, "url")
	id := fmt.Sprint(dig(p.call("getUploadParamsForTemplate", params), "getuploadparams.id"))
	p.advance(62 * time.Minute)
	if row := p.template(id); row["status"] != "UploadAbandoned" {
		t.Errorf("after the timeout: %v", row["status"])
	}
	if job := p.runJob("deleteTemplate", map[string]string{"id": id}); job["jobstatus"] != 1.0 {
		t.Errorf("deleting an abandoned upload: %v", job)
	}
}

// runJob sends an async command and waits for its job.
func (p *player) runJob(command string, params map[string]string) map[string]any {
	p.t.Helper()
	id := fmt.Sprint(p.call(command, params)["jobid"])
	for range 60 {
		if job := p.call("queryAsyncJobResult", map[string]string{"jobid": id}); job["jobstatus"] != 0.0 {
			return job
		}
		p.advance(time.Second)
	}
	p.t.Fatalf("%s does not end", command)
	return nil
}

// post sends a file to an upload URL as a browser would.
func post(t *testing.T, ca []byte, up map[string]any, name string, data []byte) (int, string) {
	t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	part, err := form.CreateFormFile("file", name)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := part.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := form.Close(); err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequest(http.MethodPost, fmt.Sprint(up["postURL"]), &body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", form.FormDataContentType())
	for _, k := range []string{"signature", "metadata", "expires"} {
		req.Header.Set("X-"+k, fmt.Sprint(up[k]))
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(ca) {
		t.Fatal("no CA")
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}
	defer transport.CloseIdleConnections()
	resp, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, strings.TrimSpace(string(text))
}

// start is when the clocks of tests begin.
func start() time.Time { return time.Date(2026, 11, 30, 18, 0, 0, 0, time.UTC) }
