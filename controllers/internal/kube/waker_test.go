package kube_test

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/capcat/capcat/controllers/internal/kube"
)

// TestWhatIsWokenGoesFirst: before everything that was queued earlier, and also when it is queued already.
func TestWhatIsWokenGoesFirst(t *testing.T) {
	named := func(i int) types.NamespacedName { return types.NamespacedName{Name: fmt.Sprintf("m%d", i)} }
	queue := priorityqueue.New[reconcile.Request]("test")
	defer queue.ShutDown()
	w := kube.NewWaker()
	if err := w.Start(t.Context(), queue); err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		queue.Add(reconcile.Request{NamespacedName: named(i)})
	}
	woken := []types.NamespacedName{named(4), named(9)}
	for _, name := range woken {
		w.Wake(name)
	}
	for range woken {
		got, _ := queue.Get()
		if got.NamespacedName != woken[0] && got.NamespacedName != woken[1] {
			t.Errorf("%s comes before what was woken", got)
		}
		queue.Done(got)
	}
}
