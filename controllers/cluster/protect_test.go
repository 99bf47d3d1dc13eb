package cluster_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/controllers/cluster"
	"github.com/capcat/capcat/test/builder"
)

func TestSecretsAreMarked(t *testing.T) {
	ours := map[string]string{infrav1.LabelMove: infrav1.MoveByIdentity}
	theirs := map[string]string{infrav1.LabelMove: ""}
	protected := []string{infrav1.FinalizerIdentity}
	paused := func(c *infrav1.CloudStackCluster) {
		c.Annotations = map[string]string{"cluster.x-k8s.io/paused": ""}
	}
	elsewhere := spec(func(s *infrav1.CloudStackClusterSpec) { s.IdentityRef.Name = "another" })
	tests := map[string]struct {
		labels, want         map[string]string
		finalizers, wantKept []string
		users                func(w *world)
	}{
		"nobody's stays as it is": {users: func(*world) {}},
		"nobody's any more": {
			labels: ours, finalizers: protected,
			users: func(w *world) { w.cluster("c1", elsewhere) },
		},
		"nobody's any more, and a person wants it moved": {
			labels: theirs, want: theirs, finalizers: protected,
			users: func(*world) {},
		},
		"of a cluster": {
			want: ours, finalizers: protected, wantKept: protected,
			users: func(w *world) { w.cluster("c1") },
		},
		"of a cluster, labelled by a person": {
			labels: theirs, want: theirs, finalizers: protected, wantKept: protected,
			users: func(w *world) { w.cluster("c1") },
		},
		"of a paused cluster that has made nothing": {
			want:  ours,
			users: func(w *world) { w.cluster("c1", paused) },
		},
		"of one cluster of two": {
			labels: ours, want: ours, finalizers: protected, wantKept: protected,
			users: func(w *world) {
				w.cluster("c1", elsewhere)
				w.cluster("c2")
			},
		},
		"of a failure domain": {
			want: ours,
			users: func(w *world) {
				w.cluster("c1", elsewhere, spec(func(s *infrav1.CloudStackClusterSpec) {
					s.Zone = nil
					d := domain("fd1", "net-a")
					d.ACSEndpoint.Name = "cloudstack"
					s.FailureDomains = []infrav1.FailureDomainSpec{d}
				}))
			},
		},
		"of a catalog only": {
			want: ours, finalizers: protected,
			users: func(w *world) { w.Must(w.Client.Create(w.T.Context(), builder.Catalog(w.NS, "nodes"))) },
		},
		"of an image only": {
			want:  ours,
			users: func(w *world) { w.Must(w.Client.Create(w.T.Context(), image(w.NS))) },
		},
		"of a cluster of another namespace": {
			users: func(w *world) {
				w.Must(client.IgnoreAlreadyExists(w.Client.Create(w.T.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.NS + "-other"}})))
				w.clusterIn(w.NS+"-other", "c1")
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			key := client.ObjectKey{Namespace: w.NS, Name: "cloudstack"}
			var secret corev1.Secret
			w.Must(w.Client.Get(t.Context(), key, &secret))
			secret.Labels, secret.Finalizers = test.labels, test.finalizers
			w.Must(w.Client.Update(t.Context(), &secret))
			test.users(w)
			for range 2 {
				_, err := cluster.NewKeeper(w.Client).Reconcile(t.Context(), ctrl.Request{NamespacedName: key})
				w.Must(err)
				w.Must(w.Client.Get(t.Context(), key, &secret))
				if diff := cmp.Diff(test.want, secret.Labels); diff != "" {
					t.Errorf("labels -want +got:\n%s", diff)
				}
				if diff := cmp.Diff(test.wantKept, secret.Finalizers); diff != "" {
					t.Errorf("finalizers -want +got:\n%s", diff)
				}
			}
		})
	}
}

// image is one that a person has made.
func image(namespace string) *infrav1.CloudStackImage {
	return &infrav1.CloudStackImage{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "one-off"},
		Spec: infrav1.CloudStackImageSpec{
			IdentityRef: infrav1.IdentityReference{Name: "cloudstack"}, Zone: infrav1.ZoneReference{Name: zone},
			KubernetesVersion: builder.Version, OS: "ubuntu-24.04",
			ExistingTemplate: &infrav1.TemplateReference{Name: "node"},
		},
	}
}
