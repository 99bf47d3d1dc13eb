package image_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/controllers/cloudstack"
	"github.com/capcat/capcat/controllers/image"
	"github.com/capcat/capcat/imagecatalog/artifact"
	"github.com/capcat/capcat/imagecatalog/artifact/fetch"
	"github.com/capcat/capcat/imagecatalog/artifact/store"
	"github.com/capcat/capcat/imagecatalog/importer"
	"github.com/capcat/capcat/imagecatalog/serve"
	"github.com/capcat/capcat/test/cloudsim"
	"github.com/capcat/capcat/test/controlplane"
	"github.com/capcat/capcat/test/rig"
)

var plane controlplane.Shared

func TestMain(m *testing.M) { os.Exit(plane.Run(m)) }

const (
	publicMirror = "images.example.org"
	serveHost    = "serve.example.org"
)

// world is a cloud, a mirror and a namespace: what outlives a manager.
type world struct {
	rig.World
	mirror *mirror
	store  *store.Store
	signer *serve.Signer
	server *httptest.Server
}

// mirror serves the corpus, also as a proxy for names that only exist here.
type mirror struct {
	*httptest.Server

	mu sync.Mutex
	// storage, if set, answers the storage VM instead of the files.
	storage http.HandlerFunc
	fetches map[string]int
	// sideFile is what the address /sums says.
	sideFile string
}

func newMirror(t *testing.T) *mirror {
	t.Helper()
	m := &mirror{fetches: map[string]int{}}
	files := http.FileServer(http.Dir(filepath.Join("..", "..", "test", "corpus")))
	m.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m.mu.Lock()
		own, sums := m.storage, m.sideFile
		who := "manager"
		if strings.Contains(r.UserAgent(), "Jakarta") {
			who = "storage"
		}
		m.fetches[who]++
		m.mu.Unlock()
		if who == "storage" && own != nil {
			own(w, r)
			return
		}
		if r.URL.Path == "/sums" {
			_, _ = io.WriteString(w, sums)
			return
		}
		files.ServeHTTP(w, r)
	}))
	t.Cleanup(m.Close)
	return m
}

func newWorld(t *testing.T) *world {
	t.Helper()
	return newWorldOn(t, rig.Manual())
}

// newWorldOn makes a world on a clock that the test moves, or on the wall clock if it is nil.
func newWorldOn(t *testing.T, manual *clocktesting.FakeClock) *world {
	t.Helper()
	w := &world{mirror: newMirror(t)}
	blobs, err := store.Open(t.TempDir(), store.Options{MinFreeBytes: -1})
	if err != nil {
		t.Fatal(err)
	}
	if w.signer, err = serve.NewSigner(nil); err != nil {
		t.Fatal(err)
	}
	w.store, w.server = blobs, httptest.NewServer(serve.New(blobs, w.signer, serve.Options{}))
	t.Cleanup(w.server.Close)
	w.World = rig.New(t, &plane, manual, cloudsim.Options{
		Preset: cloudsim.PresetDemo, Resolve: map[string]string{publicMirror: hostPort(w.mirror.URL), serveHost: hostPort(w.server.URL)},
	})
	if manual != nil {
		w.Remember()
	}
	w.Secret(w.NS, "user")
	return w
}

func hostPort(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Host
}

// manager is one life of the manager.
type manager struct {
	*world
	reconciler *image.Reconciler
	sessions   *cloudstack.Sessions
	woken      chan reconcile.Request
	events     *events.FakeRecorder
	queue      workqueue.TypedRateLimitingInterface[reconcile.Request]
	// judge, if set, looks at an image after a reconcile that made some calls.
	judge func(img *infrav1.CloudStackImage, made []cloudsim.Entry)
}

type option func(*image.Options)

func withoutServe(o *image.Options) { o.ServeURL = nil }

// options is what a manager works with.
func (w *world) options() image.Options {
	w.T.Helper()
	sessions, err := cloudstack.NewSessions(cloudstack.Options{Clock: w.Time(), CallsPerSecond: -1})
	w.Must(err)
	mirror, err := url.Parse(w.mirror.URL)
	w.Must(err)
	fetcher := fetch.New(fetch.Options{AllowLoopback: true, Attempts: 1, Proxy: func(r *http.Request) (*url.URL, error) {
		if r.URL.Hostname() == publicMirror {
			return mirror, nil
		}
		return nil, nil
	}})
	imports, err := importer.New(importer.Options{Store: w.store, Fetcher: fetcher})
	w.Must(err)
	return image.Options{
		Sessions: sessions, Importer: imports, Clock: w.Time(),
		PublicHost: func(_ context.Context, host string) bool { return host == publicMirror },
		ServeURL: func(d artifact.Digest, suffix string, expires time.Time) (string, error) {
			return w.signer.URL("http://"+serveHost+":"+portOf(w.server.URL), d, suffix, expires)
		},
	}
}

// start begins a life of the manager on a client, which may be one that fails.
func (w *world) start(c client.Client, opts ...option) *manager {
	w.T.Helper()
	o := w.options()
	for _, change := range opts {
		change(&o)
	}
	m := &manager{world: w, sessions: o.Sessions, woken: make(chan reconcile.Request, 1000), events: events.NewFakeRecorder(1000)}
	var err error
	m.reconciler, err = image.New(c, w.Client, m.events, o)
	w.Must(err)
	m.queue = workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	w.Must(m.reconciler.Waker().Start(w.T.Context(), m.queue))
	go m.pump()
	w.T.Cleanup(m.stop)
	return m
}

func (m *manager) pump() {
	for {
		item, shutdown := m.queue.Get()
		if shutdown {
			return
		}
		m.woken <- item
		m.queue.Done(item)
	}
}

func (m *manager) stop() {
	m.reconciler.Stop()
	m.queue.ShutDown()
}

func portOf(address string) string {
	return hostPort(address)[strings.LastIndex(hostPort(address), ":")+1:]
}

// image creates an image of a file of the corpus.
func (w *world) image(name, file string, change ...func(*infrav1.CloudStackImage)) *infrav1.CloudStackImage {
	w.T.Helper()
	img := &infrav1.CloudStackImage{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.NS, Name: name},
		Spec: infrav1.CloudStackImageSpec{
			IdentityRef:       infrav1.IdentityReference{Name: "cloudstack"},
			Zone:              infrav1.ZoneReference{Name: "zone-kvm"},
			KubernetesVersion: "v1.33.1",
			OS:                "ubuntu-24.04",
			Source: &infrav1.ImageSource{
				URLs:     []infrav1.SourceURL{infrav1.SourceURL(w.mirror.URL + "/" + file)},
				Checksum: infrav1.Checksum{Algorithm: "sha256", Value: corpusSHA256(w.T, file)},
			},
			DeletePolicy: infrav1.DeletePolicyDelete,
		},
	}
	for _, f := range change {
		f(img)
	}
	w.Must(w.Client.Create(w.T.Context(), img))
	return img
}

func corpusSHA256(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "test", "corpus", "MANIFEST.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if columns := strings.Split(line, "\t"); columns[0] == file {
			return columns[4]
		}
	}
	t.Fatalf("the corpus has no %s", file)
	return ""
}

func (w *world) get(img *infrav1.CloudStackImage) (*infrav1.CloudStackImage, bool) {
	w.T.Helper()
	now := &infrav1.CloudStackImage{}
	err := w.Client.Get(w.T.Context(), client.ObjectKeyFromObject(img), now)
	if client.IgnoreNotFound(err) != nil {
		w.T.Fatal(err)
	}
	return now, err == nil
}

// once reconciles an image one time.
func (m *manager) once(img *infrav1.CloudStackImage) (ctrl.Result, error) {
	return m.reconciler.Reconcile(m.T.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(img)})
}

const (
	maxSteps = 400
	patience = 2 * time.Minute // a busy computer needs long for what takes milliseconds
)

// drive reconciles an image and moves the clock as the queue would, until what is asked for is true.
func (m *manager) drive(img *infrav1.CloudStackImage, until func(*infrav1.CloudStackImage) bool) *infrav1.CloudStackImage {
	m.T.Helper()
	var trace []string
	for range maxSteps {
		calls := len(m.Sim.Journal())
		m.sessions.PollJobs(m.T.Context())
		result, err := m.once(img)
		now, exists := m.get(img)
		if !exists {
			now = nil
		}
		if m.judge != nil && exists {
			m.judge(now, m.Sim.Journal()[calls:])
		}
		if until(now) {
			return now
		}
		trace = append(trace, describe(now, result, err))
		m.advance(result, err, trace)
	}
	m.T.Fatalf("not reached within %d steps; the last were:\n%s", maxSteps, strings.Join(trace[len(trace)-15:], "\n"))
	return nil
}

// advance does what the queue would do after a reconcile.
func (m *manager) advance(result ctrl.Result, err error, trace []string) {
	m.T.Helper()
	switch {
	case errors.Is(err, reconcile.TerminalError(nil)):
		m.T.Fatalf("the image is given up:\n%s", strings.Join(trace, "\n"))
	case err != nil:
		m.Clock.Step(5 * time.Second)
	case result.RequeueAfter > 0:
		m.Clock.Step(result.RequeueAfter)
	default:
		select {
		case <-m.woken:
		case <-time.After(patience):
			m.T.Fatalf("nothing wakes the image:\n%s", strings.Join(trace, "\n"))
		}
	}
}

func describe(img *infrav1.CloudStackImage, result ctrl.Result, err error) string {
	if img == nil {
		return "gone"
	}
	ready := meta.FindStatusCondition(img.Status.Conditions, infrav1.ConditionReady)
	text := fmt.Sprintf("requeue %s, error %v", result.RequeueAfter, err)
	if ready != nil {
		text += fmt.Sprintf(", Ready=%s/%s %s", ready.Status, ready.Reason, ready.Message)
	}
	return text
}

func ready(img *infrav1.CloudStackImage) bool { return is(img, metav1.ConditionTrue, "") }

func gone(img *infrav1.CloudStackImage) bool { return img == nil }

func because(reason string) func(*infrav1.CloudStackImage) bool {
	return func(img *infrav1.CloudStackImage) bool { return is(img, metav1.ConditionFalse, reason) }
}

func is(img *infrav1.CloudStackImage, status metav1.ConditionStatus, reason string) bool {
	if img == nil {
		return false
	}
	c := meta.FindStatusCondition(img.Status.Conditions, infrav1.ConditionReady)
	return c != nil && c.Status == status && (reason == "" || c.Reason == reason)
}

// delete deletes an image and follows it until it is gone.
func (m *manager) delete(img *infrav1.CloudStackImage) {
	m.T.Helper()
	m.Must(client.IgnoreNotFound(m.Client.Delete(m.T.Context(), img.DeepCopy())))
	m.drive(img, gone)
}

// templates are those that users made and that the cloud still has.
func (w *world) templates() []cloudsim.InventoryItem { return w.Sim.Inventory().Templates }

func (w *world) wantTemplates(n int) {
	w.T.Helper()
	if got := w.templates(); len(got) != n {
		w.T.Errorf("the cloud has %d templates, want %d: %+v", len(got), n, got)
	}
}

// calls counts the calls of a command.
func (w *world) calls(command string) int {
	n := 0
	for _, e := range w.Sim.Journal() {
		if e.Command == command {
			n++
		}
	}
	return n
}

func by(mode infrav1.DeliveryMode) func(*infrav1.CloudStackImage) {
	return func(i *infrav1.CloudStackImage) { i.Spec.Delivery.Mode = mode }
}

func public(i *infrav1.CloudStackImage) {
	for n, u := range i.Spec.Source.URLs {
		parsed, err := url.Parse(string(u))
		if err == nil {
			i.Spec.Source.URLs[n] = infrav1.SourceURL("http://" + publicMirror + parsed.Path)
		}
	}
}

func inZone(name string) func(*infrav1.CloudStackImage) {
	return func(i *infrav1.CloudStackImage) { i.Spec.Zone = infrav1.ZoneReference{Name: name} }
}

const progressPause = 15 * time.Second

// post sends a form and returns the body of the reply.
func post(t *testing.T, address string, params map[string]string) string {
	t.Helper()
	form := url.Values{}
	for key, value := range params {
		form.Set(key, value)
	}
	resp, err := http.PostForm(address, form)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: status %d, %v: %s", params["command"], resp.StatusCode, err, body)
	}
	return string(body)
}
