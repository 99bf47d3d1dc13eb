package image_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/test/cloudsim"
)

// faults are all that can happen to one call of a command. To a command that only reads it makes no difference whether a
// fault strikes before or after.
func faults(command string) []cloudsim.Fault {
	reads := strings.HasPrefix(command, "list") || strings.HasPrefix(command, "query")
	var all []cloudsim.Fault
	for _, kind := range []string{cloudsim.FaultReset, cloudsim.FaultError, cloudsim.Fault502, cloudsim.Fault401, cloudsim.Fault429} {
		all = append(all, cloudsim.Fault{Command: command, Phase: cloudsim.PhaseBefore, Kind: kind})
		if !reads {
			all = append(all, cloudsim.Fault{Command: command, Phase: cloudsim.PhaseAfter, Kind: kind})
		}
	}
	all = append(all, cloudsim.Fault{Command: command, Phase: cloudsim.PhaseDuring, Kind: cloudsim.FaultReset})
	if !reads {
		all = append(all, cloudsim.Fault{Command: command, Phase: cloudsim.PhaseDuring, Kind: cloudsim.FaultError},
			cloudsim.Fault{Command: command, Phase: cloudsim.PhaseDuring, Kind: cloudsim.FaultJob})
	}
	return all
}

// commandsOf lists the commands of a whole life of an image.
func commandsOf(t *testing.T) []string {
	t.Helper()
	w := newWorld(t)
	m := w.start(w.client)
	img := w.image("node", "qcow2-v3.qcow2", by(infrav1.DeliveryServe))
	m.drive(img, ready)
	m.delete(img)
	var commands []string
	for _, e := range w.sim.Journal() {
		if !slices.Contains(commands, e.Command) {
			commands = append(commands, e.Command)
		}
	}
	return commands
}

// TestEveryCallFails fails every CloudStack call of an image's life once, before, during and after it took effect.
func TestEveryCallFails(t *testing.T) {
	w := newWorld(t)
	number := 0
	run := func(fault cloudsim.Fault, mode infrav1.DeliveryMode) {
		number++
		name := fmt.Sprintf("node-%d", number)
		t.Run(strings.Join([]string{fault.Command, fault.Phase, fault.Kind}, "/"), func(t *testing.T) {
			inner := *w
			inner.t = t
			inner.surviveFault(name, fault, mode)
		})
	}
	for _, command := range commandsOf(t) {
		for _, fault := range faults(command) {
			run(fault, infrav1.DeliveryServe)
		}
	}
	for _, fault := range faults("getUploadParamsForTemplate") {
		run(fault, infrav1.DeliveryUpload)
	}
}

// surviveFault takes an image through its life with one fault, and checks that nothing is doubled, lost or stuck.
func (w *world) surviveFault(name string, fault cloudsim.Fault, mode infrav1.DeliveryMode) {
	w.t.Helper()
	w.sim.ClearFaults()
	w.must(w.sim.AddFault(fault))
	m := w.start(w.client)
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
		w.t.Errorf("%d templates are ready, want one: %+v", usable, w.templates())
	}
	if mode != infrav1.DeliveryUpload {
		// A row that waits for an upload nobody can make any more stays until the server gives it up.
		w.wantTemplates(1)
	}
	if now.Status.TemplateID == "" {
		w.t.Error("the status names no template")
	}
	m.delete(img)
	w.wantTemplates(0)
}

var errCut = errors.New("the manager was killed here")

// cutter is a client that fails its nth write, before or after it took effect, as when the manager is killed there.
type cutter struct {
	mu    sync.Mutex
	left  int
	after bool
	cut   bool
}

func (c *cutter) strikes() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cut {
		return true
	}
	c.left--
	c.cut = c.left < 0
	return c.cut
}

func (c *cutter) wrap(inner client.WithWatch) client.Client {
	write := func(do func() error) error {
		was := c.dead()
		if !c.strikes() {
			return do()
		}
		if c.after && !was {
			return errors.Join(do(), errCut)
		}
		return errCut
	}
	return interceptor.NewClient(inner, interceptor.Funcs{
		Patch: func(ctx context.Context, k client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			return write(func() error { return k.Patch(ctx, o, p, opts...) })
		},
		SubResourcePatch: func(ctx context.Context, k client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
			return write(func() error { return k.SubResource(sub).Patch(ctx, o, p, opts...) })
		},
	})
}

func (c *cutter) dead() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cut
}

// TestKilledAtEveryWrite kills the manager at every write of an image's life, before and after the write took effect.
func TestKilledAtEveryWrite(t *testing.T) {
	for _, mode := range []infrav1.DeliveryMode{infrav1.DeliveryServe, infrav1.DeliveryUpload} {
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/after=%t", mode, after), func(t *testing.T) {
				w := newWorld(t)
				for n := range 40 {
					inner := *w
					inner.t = t
					if survived := inner.surviveKill(fmt.Sprintf("node-%d", n), &cutter{left: n, after: after}, mode); survived {
						return
					}
				}
				t.Error("an image needs more than 40 writes")
			})
		}
	}
}

// surviveKill tells whether the life ended before the cut.
func (w *world) surviveKill(name string, c *cutter, mode infrav1.DeliveryMode) bool {
	w.t.Helper()
	first := w.start(c.wrap(w.client))
	img := w.image(name, "qcow2-v3.qcow2", by(mode))
	stage := func(img *infrav1.CloudStackImage) bool { return c.dead() || ready(img) }
	first.drive(img, stage)
	if !c.dead() {
		w.must(w.client.Delete(w.t.Context(), img.DeepCopy()))
		first.drive(img, func(img *infrav1.CloudStackImage) bool { return c.dead() || img == nil })
	}
	first.stop()
	if !c.dead() {
		w.wantTemplates(0)
		return true
	}
	second := w.start(w.client)
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
			w.t.Errorf("%s: %d templates are ready, want one", name, usable)
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
		m := w.start(w.client)
		result, err := m.once(img)
		now, exists := w.get(img)
		if !exists {
			break
		}
		switch {
		case ready(now) && now.DeletionTimestamp.IsZero():
			w.wantTemplates(1)
			w.must(w.client.Delete(t.Context(), img.DeepCopy()))
		case err == nil && result.RequeueAfter == 0:
			// The import goes on as long as this life does: let it end, and look once more.
			m.advance(result, err, nil)
			_, _ = m.once(img)
		}
		m.clock.Step(result.RequeueAfter)
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
			managers := []*manager{w.start(w.client), w.start(w.client)}
			for range maxSteps {
				var wg sync.WaitGroup
				for _, m := range managers {
					wg.Go(func() { _, _ = m.once(img) })
				}
				wg.Wait()
				w.clock.Step(2 * time.Second)
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
					w.must(w.sim.AddFault(cloudsim.Fault{Phase: phase, Kind: kind, Count: -1, Probability: 0.03}))
				}
			}
			m := w.start(w.client)
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
