package workload

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	inmemory "sigs.k8s.io/cluster-api/test/infrastructure/inmemory/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// deletions remembers when something of each kind was last deleted. The in-memory API server keeps no history: a watch that begins
// where an earlier one or a list has ended would never hear of what went in between.
type deletions struct {
	mu sync.Mutex // guards all below
	// last resource version of a deletion, by cluster and kind.
	last map[string]map[schema.GroupResource]uint64
}

// listen has deletions of every kind remembered.
func (d *deletions) listen(ctx context.Context, manager inmemory.Manager) error {
	for kind := range manager.GetScheme().AllKnownTypes() {
		if kind.Version == runtime.APIVersionInternal || strings.HasSuffix(kind.Kind, "List") {
			continue
		}
		informer, err := manager.GetCache().GetInformerForKind(ctx, kind)
		if err == nil {
			err = informer.AddEventHandler(d)
		}
		if err != nil {
			return fmt.Errorf("listening for deletions of kind %s: %w", kind.Kind, err)
		}
	}
	return nil
}

// OnDelete notes the version that a deletion has made.
func (d *deletions) OnDelete(cluster string, o client.Object) {
	version, err := strconv.ParseUint(o.GetResourceVersion(), 10, 64)
	if err != nil {
		return
	}
	resource, _ := meta.UnsafeGuessKindToResource(o.GetObjectKind().GroupVersionKind())
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.last[cluster] == nil {
		d.last[cluster] = map[schema.GroupResource]uint64{}
	}
	d.last[cluster][resource.GroupResource()] = version
}

// OnCreate does nothing.
func (d *deletions) OnCreate(string, client.Object) {}

// OnUpdate does nothing.
func (d *deletions) OnUpdate(string, client.Object, client.Object) {}

// OnGeneric does nothing.
func (d *deletions) OnGeneric(string, client.Object) {}

// since tells whether something of a kind was deleted after a version.
func (d *deletions) since(cluster string, of schema.GroupResource, version uint64) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.last[cluster][of] > version
}

func (d *deletions) forget(cluster string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.last, cluster)
}

// target is what the path of a request is about.
type target struct {
	resource        schema.GroupResource
	namespace, name string
}

// targetOf reads a path such as /apis/apps/v1/namespaces/default/deployments/web. It is false for other paths, and for what is below
// an object.
func targetOf(path string) (target, bool) {
	var t target
	rest := strings.Split(strings.Trim(path, "/"), "/")
	switch {
	case len(rest) > 2 && rest[0] == "api":
		rest = rest[2:]
	case len(rest) > 3 && rest[0] == "apis":
		t.resource.Group, rest = rest[1], rest[3:]
	default:
		return target{}, false
	}
	if rest[0] == "namespaces" && len(rest) > 2 {
		t.namespace, rest = rest[1], rest[2:]
	}
	if t.resource.Resource = rest[0]; len(rest) > 1 {
		t.name = rest[1]
	}
	return t, len(rest) <= 2
}

// watch lets a client watch, or tells it to list anew.
func (p *memoryPlane) watch(w http.ResponseWriter, r *http.Request, of target) {
	from, err := strconv.ParseUint(r.URL.Query().Get("resourceVersion"), 10, 64)
	if err != nil || from == 0 {
		p.api.ServeHTTP(w, r) // it begins with everything that is there
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	p.api.ServeHTTP(&watchWriter{ResponseWriter: w, end: cancel, tooOld: func() bool {
		return p.tier.deletions.since(p.group, of.resource, from)
	}}, r.WithContext(ctx))
}

// watchWriter is asked to write a header when the server has begun to listen, so nothing is missed that is deleted afterwards.
type watchWriter struct {
	http.ResponseWriter
	tooOld  func() bool
	end     context.CancelFunc
	refused bool
}

// WriteHeader lets the first event be the last, where the version is too old.
func (w *watchWriter) WriteHeader(status int) {
	w.ResponseWriter.WriteHeader(status)
	if status != http.StatusOK || !w.tooOld() {
		return
	}
	w.refused = true
	expired := apierrors.NewResourceExpired("too old resource version").Status()
	expired.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
	_ = json.NewEncoder(w.ResponseWriter).Encode(map[string]any{"type": watch.Error, "object": expired}) // a client that left is not an error
	w.end()
}

// Write leaves out what the server says after a refusal.
func (w *watchWriter) Write(b []byte) (int, error) {
	if w.refused {
		return len(b), nil
	}
	return w.ResponseWriter.Write(b)
}

// Flush implements http.Flusher.
func (w *watchWriter) Flush() {
	if f, ok := w.ResponseWriter.(http.Flusher); ok {
		f.Flush()
	}
}
