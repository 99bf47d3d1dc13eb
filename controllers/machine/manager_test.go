package machine_test

import (
	"context"
	"testing"

	"k8s.io/utils/clock"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/controllers/cloudstack"
	"github.com/capcat/capcat/controllers/machine"
	"github.com/capcat/capcat/test/rig"
)

// TestUnderAManager runs the controller with its watches, caches and queue. The cloud's clock runs with the wall clock.
func TestUnderAManager(t *testing.T) {
	w := newWorld(t)
	ctx, end := w.Run(&plane, func(ctx context.Context, mgr ctrl.Manager) error {
		sessions, err := cloudstack.NewSessions(cloudstack.Options{CallsPerSecond: -1})
		w.Must(err)
		w.Must(mgr.Add(sessions))
		return machine.SetupWithManager(ctx, mgr, machine.Options{Sessions: sessions, Clock: clock.RealClock{}, WatchFilter: "ours"})
	})
	ours := func(p *pair) { p.infra.Labels[clusterv1.WatchLabel] = "ours" }
	cm := w.machine("worker", ours, owner(func(s *clusterv1.MachineSpec) { s.Version = "v1.34.0" }))
	others := w.machine("others")
	rig.Await(ctx, &w.World, cm, &infrav1.CloudStackMachineList{}, because(infrav1.ReasonImageNotFound))
	// Nobody touches the machine: the watch on images must wake it.
	w.image("new", "zone-a", func(i *infrav1.CloudStackImage) { i.Spec.KubernetesVersion = "v1.34.0" })
	rig.Await(ctx, &w.World, cm, &infrav1.CloudStackMachineList{}, ready)
	w.Must(w.Client.Delete(ctx, w.get(cm)))
	rig.Await(ctx, &w.World, cm, &infrav1.CloudStackMachineList{}, gone)
	w.wantVMs(0)
	if got := w.get(others); len(got.Status.Conditions) != 0 {
		t.Errorf("a machine of another manager was worked on: %+v", got.Status)
	}
	end()
}
