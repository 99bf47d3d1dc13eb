package image_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/capcat/capcat/controllers/image"
)

func TestImageOfAnotherManagerIsLeftAlone(t *testing.T) {
	w := newWorld(t)
	m := w.start(w.Client, func(o *image.Options) { o.WatchFilter = "ours" })
	img := w.image("node", "qcow2-v3.qcow2")
	result, err := m.once(img) // as a change of the Secret would
	w.Must(err)
	if now, _ := w.get(img); !result.IsZero() || !cmp.Equal(now, img) {
		t.Errorf("result %+v, changed (-want +got):\n%s", result, cmp.Diff(img, now))
	}
	img.Labels = map[string]string{clusterv1.WatchLabel: "ours"}
	w.Must(w.Client.Update(t.Context(), img))
	m.drive(img, ready)
}
