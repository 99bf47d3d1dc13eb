package image_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/test/cloudsim"
	"github.com/capcat/capcat/test/faults"
	"github.com/capcat/capcat/test/rig"
)

// commandsOf lists the commands of a whole life of an image.
func commandsOf(t *testing.T) []string {
	t.Helper()
	w := newWorld(t)
	m := w.start(w.Client)
	img := w.image("node", "qcow2-v3.qcow2", by(infrav1.DeliveryServe))
	m.drive(img, ready)
	m.delete(img)
	return w.Commands(0)
}

// TestEveryCallFails fails every CloudStack call of an image's life once, before, during and after it took effect.
func TestEveryCallFails(t *testing.T) {
	w := newWorld(t)
	number := 0
	run := func(p faults.Point, mode infrav1.DeliveryMode) {
		number++
		name := fmt.Sprintf("node-%d", number)
		t.Run(p.String(), func(t *testing.T) {
			inner := *w
			inner.T = t
			inner.surviveFault(name, p.Fault, mode)
		})
	}
	all, uploads := faults.Points(commandsOf(t)), faults.Points([]string{"getUploadParamsForTemplate"})
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

// TestTwoManagers lets two managers work on the same image at the same time, each believing to be alone.
func TestTwoManagers(t *testing.T) {
	for round := range 5 {
		t.Run(fmt.Sprint(round), func(t *testing.T) {
			w := newWorld(t)
			img := w.image("node", "qcow2-v3.qcow2", by(infrav1.DeliveryServe))
			managers := []*manager{w.start(w.Client), w.start(w.Client)}
			for range maxSteps {
				var wg sync.WaitGroup
				for _, m := range managers {
					wg.Go(func() { _, _ = m.once(img) })
				}
				wg.Wait()
				w.Clock.Step(2 * time.Second)
				if now, _ := w.get(img); ready(now) {
					break
				}
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
