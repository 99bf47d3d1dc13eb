package upgrade_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/controllers/upgrade"
)

// expect compares status and reason, and looks for parts of the message.
func expect(t *testing.T, got metav1.Condition, status metav1.ConditionStatus, reason string, parts ...string) {
	t.Helper()
	if got.Status != status || got.Reason != reason {
		t.Errorf("%s/%s: %s, want %s/%s", got.Status, got.Reason, got.Message, status, reason)
	}
	for _, part := range parts {
		if !strings.Contains(got.Message, part) {
			t.Errorf("%q does not contain %q", got.Message, part)
		}
	}
}

// TestConditionFollowsTheImages is the story of an upgrade without a class: the condition tells which zones lack the version,
// first of the control plane and then of the workers, until all have it.
func TestConditionFollowsTheImages(t *testing.T) {
	w := newWorld(t)
	expect(t, w.condition(), metav1.ConditionTrue, infrav1.ReasonReady)

	w.setControlPlaneVersion("v1.32.3")
	expect(t, w.condition(), metav1.ConditionFalse, infrav1.ReasonImageNotFound,
		"no ready image of v1.32.3 in zone-a (control plane), zone-b (control plane): version v1.32.3 is unknown")
	again := w.infra.ResourceVersion
	w.condition()
	if w.infra.ResourceVersion != again {
		t.Error("The condition is written again although nothing changed")
	}

	w.images("v1.32.3", "zone-a")
	coming := w.image("v1.32.3", "zone-b", func(*infrav1.CloudStackImage) {})
	w.unready(coming)
	expect(t, w.condition(), metav1.ConditionFalse, infrav1.ReasonImageNotReady, "in zone-b (control plane): the image "+coming.Name+" is not ready yet")
	w.ready(coming)
	expect(t, w.condition(), metav1.ConditionTrue, infrav1.ReasonReady)

	d := &clusterv1.MachineDeployment{}
	w.must(w.client.Get(t.Context(), client.ObjectKey{Namespace: w.ns, Name: "md-0"}, d))
	d.Spec.Template.Spec.Version = "v1.32.3"
	w.must(w.client.Update(t.Context(), d))
	expect(t, w.condition(), metav1.ConditionFalse, infrav1.ReasonImageNotFound, "no ready image of v1.32.3 in zone-c (md-0)")
	w.images("v1.32.3", "zone-c")
	expect(t, w.condition(), metav1.ConditionTrue, infrav1.ReasonReady)
}

func (w *world) kubeadmControlPlane() *unstructured.Unstructured {
	w.t.Helper()
	obj := &unstructured.Unstructured{}
	obj.SetAPIVersion("controlplane.cluster.x-k8s.io/v1beta2")
	obj.SetKind("KubeadmControlPlane")
	w.must(w.client.Get(w.t.Context(), client.ObjectKey{Namespace: w.ns, Name: "c1"}, obj))
	return obj
}

func (w *world) setControlPlaneVersion(version string) {
	w.t.Helper()
	obj := w.kubeadmControlPlane()
	w.must(unstructured.SetNestedField(obj.Object, version, "spec", "version"))
	w.must(w.client.Update(w.t.Context(), obj))
}

// topology has the cluster come of a class that asks for a version.
func (w *world) topology(version string) {
	w.t.Helper()
	w.must(w.client.Get(w.t.Context(), client.ObjectKeyFromObject(w.cluster), w.cluster))
	w.cluster.Spec.Topology = clusterv1.Topology{ClassRef: clusterv1.ClusterClassRef{Name: "class"}, Version: version}
	w.must(w.client.Update(w.t.Context(), w.cluster))
}

func TestWhatIsInUse(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*world)
		want   string // part of the message; empty when nothing lacks
	}{
		"a deployment without machines": {
			change: func(w *world) {
				w.workers("md-1", "v1.40.0", func(d *clusterv1.MachineDeployment) { d.Spec.Replicas = ptr.To[int32](0) })
			},
		},
		"a deployment bound to a zone": {
			change: func(w *world) {
				w.images("v1.32.3", "zone-b")
				w.workers("md-1", "v1.32.3", func(d *clusterv1.MachineDeployment) { d.Spec.Template.Spec.FailureDomain = "fd-zone-b" })
			},
		},
		"a template bound to a zone": {
			change: func(w *world) {
				w.images("v1.32.3", "zone-b")
				w.machineTemplate("in-a", infrav1.CloudStackMachineSpec{FailureDomainName: "fd-zone-a"})
				w.workers("md-1", "v1.32.3", of("in-a"))
			},
			want: "no ready image of v1.32.3 in zone-a (md-1): version v1.32.3 is known, but not in zone zone-a: it is in zone-b",
		},
		"another operating system": {
			change: func(w *world) {
				w.machineTemplate("rocky", infrav1.CloudStackMachineSpec{Image: &infrav1.MachineImage{OS: "rocky-9"}})
				w.workers("md-1", "v1.31.7", of("rocky"))
			},
			want: "not for the operating system rocky-9",
		},
		"a fixed template that nobody knows": {
			change: func(w *world) {
				w.machineTemplate("fixed", infrav1.CloudStackMachineSpec{Template: &infrav1.ResourceIdentifier{Name: "mine"}})
				w.workers("md-1", "v1.40.0", of("fixed"))
			},
		},
		"a fixed template of another version": {
			change: func(w *world) {
				w.machineTemplate("fixed", infrav1.CloudStackMachineSpec{Template: &infrav1.ResourceIdentifier{Name: imageName("v1.31.7", "zone-c")}})
				w.workers("md-1", "v1.40.0", of("fixed"))
			},
			want: "is fixed and holds v1.31.7",
		},
		"machines of another provider": {
			change: func(w *world) {
				w.workers("md-1", "v1.40.0", func(d *clusterv1.MachineDeployment) {
					d.Spec.Template.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{APIGroup: "infrastructure.cluster.x-k8s.io", Kind: "OtherTemplate", Name: "o"}
				})
			},
		},
		"a catalog that the cluster does not name": {
			change: func(w *world) {
				w.infra.Spec.Catalogs = []infrav1.CatalogReference{{Name: "mine"}}
				w.must(w.client.Update(w.t.Context(), w.infra))
			},
			want: "no ready image of v1.31.7 in zone-a (control plane, md-0), zone-b (control plane, md-0), zone-c (md-0): version v1.31.7 is unknown; the catalog is empty",
		},
		"a topology passes through a minor that is not there": {
			change: func(w *world) {
				w.images("v1.33.1", "zone-a", "zone-b", "zone-c")
				w.topology("v1.33.1")
			},
			want: "no way from v1.31.7 to v1.33.1: each minor version between needs a version that is ready everywhere; there is no image of v1.32",
		},
		"a topology passes through a minor that a zone lacks": {
			change: func(w *world) {
				w.images("v1.33.1", "zone-a", "zone-b", "zone-c")
				w.images("v1.32.3", "zone-a", "zone-b")
				w.topology("v1.33.1")
			},
			want: "no ready image of v1.32.3 in zone-c (md-0)",
		},
		"a topology passes through minors that are there": {
			change: func(w *world) {
				w.images("v1.33.1", "zone-a", "zone-b", "zone-c")
				w.images("v1.32.3", "zone-a", "zone-b", "zone-c")
				w.topology("v1.33.1")
			},
		},
		"a topology asks for its version at the end": {
			change: func(w *world) {
				w.topology("v1.33.1")
			},
			want: "no ready image of v1.33.1 in zone-a (control plane, md-0)",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			c.change(w)
			got := w.condition()
			if c.want == "" {
				expect(t, got, metav1.ConditionTrue, infrav1.ReasonReady)
				return
			}
			expect(t, got, metav1.ConditionFalse, infrav1.ReasonImageNotFound, c.want)
		})
	}
}

func of(template string) deploymentOption {
	return func(d *clusterv1.MachineDeployment) { d.Spec.Template.Spec.InfrastructureRef.Name = template }
}

// TestNotOursToTell leaves alone what somebody else looks after.
func TestNotOursToTell(t *testing.T) {
	for name, change := range map[string]func(*world){
		"paused":             func(w *world) { w.annotate(clusterv1.PausedAnnotation) },
		"managed externally": func(w *world) { w.annotate(clusterv1.ManagedByAnnotation) },
		"of another manager": func(*world) {},
		"no CloudStackCluster": func(w *world) {
			w.must(w.client.Get(w.t.Context(), client.ObjectKeyFromObject(w.cluster), w.cluster))
			w.cluster.Spec.InfrastructureRef.Kind = "OtherCluster"
			w.must(w.client.Update(w.t.Context(), w.cluster))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			change(w)
			o := upgrade.Options{}
			if name == "of another manager" {
				o.WatchFilter = "blue"
			}
			if got := w.condition(o); got.Type != "" {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func (w *world) annotate(key string) {
	w.t.Helper()
	w.infra.Annotations = map[string]string{key: "yes"}
	w.must(w.client.Update(w.t.Context(), w.infra))
}

func TestBeforeAnythingIsKnown(t *testing.T) {
	w := newWorld(t)
	w.infra.Status.Resolved = nil
	w.infra.Status.Initialization.Provisioned = ptr.To(false)
	w.must(w.client.Status().Update(t.Context(), w.infra))
	expect(t, w.condition(), metav1.ConditionUnknown, infrav1.ReasonWaitingForInfrastructure)

	w.must(w.client.DeleteAllOf(t.Context(), &infrav1.CloudStackMachineTemplate{}, client.InNamespace(w.ns)))
	expect(t, w.condition(), metav1.ConditionTrue, infrav1.ReasonNotNeeded)
}
