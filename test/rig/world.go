package rig

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/controllers/cloudstack"
	"github.com/capcat/capcat/test/cloudsim"
	"github.com/capcat/capcat/test/controlplane"
)

// World is a cloud and a namespace: what outlives a manager. A copy with another T is the same world for a subtest.
type World struct {
	T *testing.T
	// Clock is nil when the world runs on the wall clock.
	Clock *clocktesting.FakeClock
	Sim   *cloudsim.Server
	API   *httptest.Server
	// NS is the namespace.
	NS     string
	Client client.WithWatch
	// direct is the client that reads everything again.
	direct client.WithWatch
}

// New makes a world on a clock that the test moves, or on the wall clock if it is nil. The cloud is torn down with the test.
func New(t *testing.T, plane *controlplane.Shared, manual *clocktesting.FakeClock, o cloudsim.Options) World {
	t.Helper()
	w := World{T: t, Clock: manual, NS: plane.Namespace(t)}
	o.Clock, o.StorageDir = w.Time(), t.TempDir()
	var err error
	w.Sim, err = cloudsim.New(o)
	w.Must(err)
	w.API = httptest.NewServer(w.Sim)
	t.Cleanup(func() {
		w.API.Close()
		if err := w.Sim.Close(); err != nil {
			t.Error(err)
		}
		w = World{} // a test is kept in memory until its parent ends, with what it cleaned up
	})
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{scheme.AddToScheme, clusterv1.AddToScheme, infrav1.AddToScheme} {
		w.Must(add(s))
	}
	w.direct = plane.Client(t, s)
	w.Client = w.direct
	return w
}

// Manual gives a clock for New that stands at the present time.
func Manual() *clocktesting.FakeClock { return clocktesting.NewFakeClock(time.Now()) }

// Time is the clock of everything in the world.
func (w *World) Time() clock.WithTicker {
	if w.Clock == nil {
		return clock.RealClock{}
	}
	return w.Clock
}

// Must ends the test on an error.
func (w *World) Must(err error) {
	w.T.Helper()
	if err != nil {
		w.T.Fatal(err)
	}
}

// SecretName is the name of the Secret with the credentials.
const SecretName = "cloudstack"

// Secret makes or changes the credentials in a namespace to those of a caller.
func (w *World) Secret(namespace, caller string) {
	w.T.Helper()
	keys, ok := w.Sim.Keys()[caller]
	if !ok {
		w.T.Fatalf("the cloud knows no caller %s", caller)
	}
	w.SecretOf(namespace, keys.APIKey, keys.SecretKey)
}

// SecretOf is Secret with any keys.
func (w *World) SecretOf(namespace, apiKey, secretKey string) {
	w.T.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: SecretName}}
	data := map[string]string{"api-url": w.API.URL + "/client/api", "api-key": apiKey, "secret-key": secretKey, "verify-ssl": "false"}
	err := w.Client.Get(w.T.Context(), client.ObjectKeyFromObject(secret), secret)
	secret.StringData = data
	if err != nil {
		w.Must(w.Client.Create(w.T.Context(), secret))
		return
	}
	w.Must(w.Client.Update(w.T.Context(), secret))
}

// Session is how the test itself speaks to the cloud, as somebody.
func (w *World) Session(who string) *cloudstack.Session {
	w.T.Helper()
	sessions, err := cloudstack.NewSessions(cloudstack.Options{Clock: w.Time(), CallsPerSecond: -1})
	w.Must(err)
	keys := w.Sim.Keys()[who]
	s, err := sessions.For(w.T.Context(), cloudstack.Config{
		UID: who, Revision: "1", URL: w.API.URL + "/client/api", APIKey: keys.APIKey, SecretKey: keys.SecretKey,
	})
	w.Must(err)
	return s
}

// Calls counts the calls of a command; of all commands when it is "".
func (w *World) Calls(command string) int {
	n := 0
	for _, e := range w.Sim.Journal() {
		if command == "" || e.Command == command {
			n++
		}
	}
	return n
}

// Commands lists the different commands of the calls after the first so many, in their order.
func (w *World) Commands(after int) []string {
	var commands []string
	for _, e := range w.Sim.Journal()[after:] {
		if !slices.Contains(commands, e.Command) {
			commands = append(commands, e.Command)
		}
	}
	return commands
}

// Call sends any command to the cloud, as somebody, and returns the texts of the reply.
func (w *World) Call(who, command string, pairs ...string) map[string]string {
	w.T.Helper()
	keys := w.Sim.Keys()[who]
	params := map[string]string{"command": command, "response": "json", "apiKey": keys.APIKey}
	for i := 0; i+1 < len(pairs); i += 2 {
		params[pairs[i]] = pairs[i+1]
	}
	params["signature"] = cloudsim.Sign(params, keys.SecretKey)
	form := url.Values{}
	for key, value := range params {
		form.Set(key, value)
	}
	resp, err := http.PostForm(w.API.URL+"/client/api", form)
	w.Must(err)
	defer resp.Body.Close()
	var reply map[string]map[string]any
	w.Must(json.NewDecoder(resp.Body).Decode(&reply))
	out := map[string]string{}
	for _, body := range reply {
		for key, value := range body {
			if text, ok := value.(string); ok {
				out[key] = text
			}
		}
	}
	if resp.StatusCode != http.StatusOK {
		w.T.Fatalf("%s: %v", command, out)
	}
	return out
}
