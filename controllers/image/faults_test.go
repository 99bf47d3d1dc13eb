package image_test

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/test/cloudsim"
	"github.com/capcat/capcat/test/faults"
	"github.com/capcat/capcat/test/rig"
)

// lifeOf lists the commands of a whole life of an image, in which it gives no reason for not being ready but that work is underway.
func lifeOf(t *testing.T, mode infrav1.DeliveryMode) (commands []string) {
	t.Helper()
	w := newWorld(t)
	m := w.start(w.Client)
	m.judge = func(img *infrav1.CloudStackImage, _ []cloudsim.Entry) {
		c := meta.FindStatusCondition(img.Status.Conditions, infrav1.ConditionReady)
		if c != nil && c.Status != metav1.ConditionTrue && !slices.Contains(faults.Underway(), c.Reason) {
			t.Errorf("%s is not ready because of %s (%s), though nothing went wrong", img.Name, c.Reason, c.Message)
		}
	}
	img := w.image("node", "qcow2-v3.qcow2", by(mode))
	m.drive(img, ready)
	m.delete(img)
	return w.Commands(0)
}

// TestEveryCallFails fails every CloudStack call of an image's life once, before, during and after it took effect. Meanwhile the
// image gives no reason for not being ready that is none.
func TestEveryCallFails(t *testing.T) {
	w := newWorld(t)
	number := 0
	commands := lifeOf(t, infrav1.DeliveryServe)
	lifeOf(t, infrav1.DeliveryUpload)
	run := func(p faults.Point, mode infrav1.DeliveryMode) {
		number++
		name := fmt.Sprintf("node-%d", number)
		t.Run(p.String(), func(t *testing.T) {
			inner := *w
			inner.T = t
			inner.surviveFault(name, p.Fault, mode)
		})
	}
	all, uploads := faults.Points(commands), faults.Points([]string{"getUploadParamsForTemplate"})
	for _, p := range faults.Select(all) {
		run(p, infrav1.DeliveryServe)
	}
	for _, p := range uploads {
		run(p, infrav1.DeliveryUpload)
	}
	faults.Tell(t, fmt.Sprintf("%d of %d points were tried at an image", number, len(all)+len(uploads)))
}

// surviveFault takes an image through its life with one fault, and checks that nothing is doubled, lost or stuck.
func (w *world) surviveFault(name string, fault cloudsim.Fault, mode infrav1.DeliveryMode) {
	w.T.Helper()
	w.Sim.ClearFaults()
	w.Must(w.Sim.AddFault(fault))
	m := w.start(w.Client)
	defer m.stop()
	m.judge = func(img *infrav1.CloudStackImage, made []cloudsim.Entry) {
		if _, wrong := faults.Judge(fault, made, meta.FindStatusCondition(img.Status.Conditions, infrav1.ConditionReady)); wrong != "" {
			w.T.Errorf("%s %s", img.Name, wrong)
		}
	}
	img := w.image(name, "qcow2-v3.qcow2", by(mode))
	now := m.drive(img, ready)
	usable := 0
	for _, template := range w.templates() {
		if template.Ready {
			usable++
		}
	}
	if usable != 1 {
		w.T.Errorf("%d templates are ready, want one: %+v", usable, w.templates())
	}
	if mode != infrav1.DeliveryUpload {
		// A row that waits for an upload nobody can make any more stays until the server gives it up.
		w.wantTemplates(1)
	}
	if now.Status.TemplateID == "" {
		w.T.Error("the status names no template")
	}
	m.delete(img)
	w.wantTemplates(0)
}

// TestKilledAtEveryWrite kills the manager at every write of an image's life, before and after the write took effect.
func TestKilledAtEveryWrite(t *testing.T) {
	for _, mode := range []infrav1.DeliveryMode{infrav1.DeliveryServe, infrav1.DeliveryUpload} {
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/after=%t", mode, after), func(t *testing.T) {
				w := newWorld(t)
				for n := 0; n < 40; n += faults.Every(3) {
					inner := *w
					inner.T = t
					if survived := inner.surviveKill(fmt.Sprintf("node-%d", n), &rig.Cutter{Left: n, After: after}, mode); survived {
						faults.Tell(t, fmt.Sprintf("every %d. of %d writes of an image was tried", faults.Every(3), n))
						return
					}
				}
				t.Error("an image needs more than 40 writes")
			})
		}
	}
}

// surviveKill tells whether the life ended before the cut.
func (w *world) surviveKill(name string, c *rig.Cutter, mode infrav1.DeliveryMode) bool {
	w.T.Helper()
	first := w.start(c.Wrap(w.Client))
	img := w.image(name, "qcow2-v3.qcow2", by(mode))
	stage := func(img *infrav1.CloudStackImage) bool { return c.Dead() || ready(img) }
	first.drive(img, stage)
	if !c.Dead() {
		w.Must(w.Client.Delete(w.T.Context(), img.DeepCopy()))
		first.drive(img, func(img *infrav1.CloudStackImage) bool { return c.Dead() || img == nil })
	}
	first.stop()
	if !c.Dead() {
		w.wantTemplates(0)
		return true
	}
	second := w.start(w.Client)
	defer second.stop()
	if now, exists := w.get(img); exists && now.DeletionTimestamp.IsZero() {
		second.drive(img, ready)
		usable := 0
		for _, t := range w.templates() {
			if t.Ready {
				usable++
			}
		}
		if usable != 1 {
			w.T.Errorf("%s: %d templates are ready, want one", name, usable)
		}
		second.delete(img)
	} else if exists {
		second.drive(img, gone)
	}
	w.wantTemplates(0)
	return false
}

// TestNewManagerAtEveryReconcile forgets everything in memory after each reconcile.
func TestNewManagerAtEveryReconcile(t *testing.T) {
	w := newWorld(t)
	img := w.image("node", "qcow2-v3.qcow2", by(infrav1.DeliveryServe))
	for range maxSteps {
		m := w.start(w.Client)
		result, err := m.once(img)
		now, exists := w.get(img)
		if !exists {
			break
		}
		switch {
		case ready(now) && now.DeletionTimestamp.IsZero():
			w.wantTemplates(1)
			w.Must(w.Client.Delete(t.Context(), img.DeepCopy()))
		case err == nil && result.RequeueAfter == 0:
			// The import goes on as long as this life does: let it end, and look once more.
			m.advance(result, err, nil)
			_, _ = m.once(img)
		}
		m.Clock.Step(result.RequeueAfter)
		m.stop()
	}
	if _, exists := w.get(img); exists {
		t.Error("the image is still there")
	}
	w.wantTemplates(0)
}

// TestEndsAfterEveryReconcile deletes an image after each reconcile of its life up to where it is ready, with and without the loss
// of its status: no template is left.
func TestEndsAfterEveryReconcile(t *testing.T) {
	for _, mode := range []infrav1.DeliveryMode{infrav1.DeliveryServe, infrav1.DeliveryUpload} {
		for _, forgotten := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/forgotten=%t", mode, forgotten), func(t *testing.T) {
				w := newWorld(t)
				for n := 1; n < 40; n++ {
					if w.endAfter(fmt.Sprintf("node-%d", n), n, mode, forgotten) {
						faults.Tell(t, fmt.Sprintf("%d of %d reconciles were tried", n, n))
						return
					}
				}
				t.Error("an image needs more than 40 reconciles")
			})
		}
	}
}

// endAfter tells whether the image was ready before so many reconciles.
func (w *world) endAfter(name string, reconciles int, mode infrav1.DeliveryMode, forgotten bool) bool {
	w.T.Helper()
	m := w.start(w.Client)
	img := w.image(name, "qcow2-v3.qcow2", by(mode))
	complete := false
	m.drive(img, func(now *infrav1.CloudStackImage) bool {
		reconciles--
		complete = ready(now)
		return complete || reconciles == 0
	})
	m.stop()
	if forgotten {
		now, _ := w.get(img)
		now.Status = infrav1.CloudStackImageStatus{}
		w.Must(w.Client.Status().Update(w.T.Context(), now))
	}
	m = w.start(w.Client)
	defer m.stop()
	m.delete(img)
	if left := w.templates(); len(left) != 0 {
		w.T.Errorf("%s: templates that are left: %+v", name, left)
	}
	return complete
}

// TestTwoManagers lets two managers work on the same image at the same time, each believing to be alone.
func TestTwoManagers(t *testing.T) {
	for round := range 5 {
		t.Run(fmt.Sprint(round), func(t *testing.T) {
			w := newWorld(t)
			img := w.image("node", "qcow2-v3.qcow2", by(infrav1.DeliveryServe))
			managers := []*manager{w.start(w.Client), w.start(w.Client)}
			for range maxSteps {
				var wg sync.WaitGroup
				var busy atomic.Bool
				for _, m := range managers {
					wg.Go(func() {
						if result, err := m.once(img); err != nil || result.RequeueAfter > 0 {
							busy.Store(true)
						}
					})
				}
				wg.Wait()
				if now, _ := w.get(img); ready(now) {
					break
				}
				if !busy.Load() {
					awaitEither(t, managers[0].woken, managers[1].woken) // an import goes on beside the clock
				}
				w.Clock.Step(2 * time.Second)
			}
			w.wantTemplates(1)
			if n := w.calls("registerTemplate"); n != 1 {
				t.Errorf("%d calls of registerTemplate, want 1", n)
			}
			managers[0].delete(img)
			w.wantTemplates(0)
		})
	}
}

// awaitEither waits for a wake-up of one of two managers.
func awaitEither(t *testing.T, first, second <-chan reconcile.Request) {
	t.Helper()
	select {
	case <-first:
	case <-second:
	case <-time.After(patience):
		t.Fatal("nothing wakes the image")
	}
}

// TestUnreliableCloud has every fourth call fail in one way or another, all the time.
func TestUnreliableCloud(t *testing.T) {
	for _, mode := range []infrav1.DeliveryMode{infrav1.DeliveryServe, infrav1.DeliveryUpload, infrav1.DeliveryAuto} {
		t.Run(string(mode), func(t *testing.T) {
			w := newWorld(t)
			for _, phase := range []string{cloudsim.PhaseBefore, cloudsim.PhaseDuring, cloudsim.PhaseAfter} {
				for _, kind := range []string{cloudsim.FaultReset, cloudsim.FaultError, cloudsim.Fault502} {
					w.Must(w.Sim.AddFault(cloudsim.Fault{Phase: phase, Kind: kind, Count: -1, Probability: 0.03}))
				}
			}
			m := w.start(w.Client)
			for n := range 5 {
				img := w.image(fmt.Sprintf("node-%d", n), "qcow2-v3.qcow2", by(mode))
				m.drive(img, ready)
				usable := 0
				for _, template := range w.templates() {
					if template.Ready {
						usable++
					}
				}
				if usable != 1 {
					t.Errorf("%d templates are ready, want one", usable)
				}
				m.delete(img)
				w.wantTemplates(0)
			}
		})
	}
}
