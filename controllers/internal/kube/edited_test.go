package kube_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/controllers/internal/kube"
)

func TestEdited(t *testing.T) {
	now := metav1.Now()
	rows := map[string]struct {
		change func(*infrav1.CloudStackCluster)
		want   bool
	}{
		"the status":        {func(c *infrav1.CloudStackCluster) { c.Status.ObservedGeneration = 3 }, false},
		"nothing":           {func(c *infrav1.CloudStackCluster) { c.ResourceVersion = "1" }, true},
		"the spec":          {func(c *infrav1.CloudStackCluster) { c.Generation = 2 }, true},
		"it is made anew":   {func(c *infrav1.CloudStackCluster) { c.UID = "b" }, true},
		"it is deleted":     {func(c *infrav1.CloudStackCluster) { c.DeletionTimestamp = &now }, true},
		"a label":           {func(c *infrav1.CloudStackCluster) { c.Labels = map[string]string{"a": "b"} }, true},
		"an annotation":     {func(c *infrav1.CloudStackCluster) { c.Annotations = map[string]string{"a": "b"} }, true},
		"a finalizer":       {func(c *infrav1.CloudStackCluster) { c.Finalizers = []string{"a/b"} }, true},
		"an owner":          {func(c *infrav1.CloudStackCluster) { c.OwnerReferences = []metav1.OwnerReference{{Name: "a"}} }, true},
		"the managed field": {func(c *infrav1.CloudStackCluster) { c.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "a"}} }, false},
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			before := &infrav1.CloudStackCluster{ObjectMeta: metav1.ObjectMeta{UID: "a", Generation: 1, ResourceVersion: "1"}}
			after := before.DeepCopy()
			after.ResourceVersion = "2"
			row.change(after)
			if got := kube.Edited().Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after}); got != row.want {
				t.Errorf("woken: %t, want %t", got, row.want)
			}
		})
	}
}
