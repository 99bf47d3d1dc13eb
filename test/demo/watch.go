package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
)

const (
	lookEvery = 500 * time.Millisecond
	// percentStep is how much further an image must be to be worth a line.
	percentStep = 25
)

// scene is everything there is to see at one moment.
type scene struct {
	catalogs []infrav1.TemplateCatalog
	images   []infrav1.CloudStackImage
	clusters []clusterv1.Cluster
	infra    []infrav1.CloudStackCluster
	machines []clusterv1.Machine
	vms      []infrav1.CloudStackMachine
}

func (d *demo) look(ctx context.Context) (*scene, error) {
	var catalogs infrav1.TemplateCatalogList
	var images infrav1.CloudStackImageList
	var clusters clusterv1.ClusterList
	var infra infrav1.CloudStackClusterList
	var machines clusterv1.MachineList
	var vms infrav1.CloudStackMachineList
	for _, list := range []client.ObjectList{&catalogs, &images, &clusters, &infra, &machines, &vms} {
		if err := d.stage.Client.List(ctx, list, client.InNamespace(namespace)); err != nil {
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			return nil, fmt.Errorf("looking at %T: %w", list, err)
		}
	}
	byName(images.Items, func(o *infrav1.CloudStackImage) string { return o.Name })
	byName(machines.Items, func(o *clusterv1.Machine) string { return o.Name })
	byName(vms.Items, func(o *infrav1.CloudStackMachine) string { return o.Name })
	return &scene{catalogs.Items, images.Items, clusters.Items, infra.Items, machines.Items, vms.Items}, nil
}

func byName[T any](all []T, name func(*T) string) {
	slices.SortFunc(all, func(a, b T) int { return strings.Compare(name(&a), name(&b)) })
}

// watch prints what happens, once for each change.
type watch struct {
	d     *demo
	began time.Time
	said  map[string]sighting
}

// sighting is what was last said of an object.
type sighting struct {
	what    string
	percent int32
}

func (d *demo) newWatch() *watch { return &watch{d: d, began: time.Now(), said: map[string]sighting{}} }

// until looks again and again, and says what has changed, until it is done.
func (w *watch) until(ctx context.Context, what string, done func(*scene) (bool, error)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, w.d.timeout, fmt.Errorf("waited for %s for %s", what, w.d.timeout))
	defer cancel()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		s, err := w.d.look(ctx)
		if err != nil {
			return err
		}
		w.tell(s)
		if ok, err := done(s); ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-w.d.stage.Cloud.Process.Done():
			return fmt.Errorf("the simulated CloudStack ended by itself: %w", errors.Join(w.d.stage.Cloud.Process.Err(), errors.New(w.d.stage.Cloud.Process.Tail())))
		case <-tick.C:
		}
	}
}

func (w *watch) tell(s *scene) {
	for i := range s.images {
		img := &s.images[i]
		now := sighting{what: string(phaseOf(img))}
		if p := img.Status.Progress; p != nil && p.Percent != nil && now.what != string(infrav1.PhaseReady) {
			now.percent = *p.Percent
		}
		w.say("image", img.Name, now)
	}
	for i := range s.infra {
		w.once("network", s.infra[i].Name, reason(&s.infra[i]))
	}
	for i := range s.vms {
		w.once("VM", s.vms[i].Name, reason(&s.vms[i]))
	}
	nodes := map[string]sighting{}
	for i := range s.machines {
		nodes[s.machines[i].Name] = ofNode(&s.machines[i])
		w.say("node", s.machines[i].Name, nodes[s.machines[i].Name])
	}
	for key, was := range w.said {
		if name, isNode := strings.CutPrefix(key, "node/"); isNode && was.what != gone {
			if _, there := nodes[name]; !there {
				w.say("node", name, sighting{what: gone})
			}
		}
	}
}

const gone = "gone"

// say prints what is new of an object.
func (w *watch) say(kind, name string, now sighting) {
	key := kind + "/" + name
	was := w.said[key]
	if now.what == "" || (was.what == now.what && now.percent < was.percent+percentStep) {
		return
	}
	w.said[key] = now
	text := now.what
	if now.percent > 0 {
		text += fmt.Sprintf(" %d %%", now.percent)
	}
	w.line(kind, name, text)
}

// once prints each thing that is said of an object one time: networks wait for several jobs in a row.
func (w *watch) once(kind, name, what string) {
	key := kind + "/" + name + "/" + what
	if _, said := w.said[key]; said || what == "" {
		return
	}
	w.said[key] = sighting{what: what}
	w.line(kind, name, what)
}

func (w *watch) line(kind, name, text string) {
	fmt.Fprintf(w.d.out, "%6.1fs  %-8s %-52s  %s\n", time.Since(w.began).Seconds(), kind, name, text)
}

// ofNode says of a Machine what its node is like, and nothing before there is one.
func ofNode(m *clusterv1.Machine) sighting {
	switch {
	case !m.DeletionTimestamp.IsZero():
		return sighting{what: "leaves"}
	case m.Status.NodeInfo == nil:
		return sighting{}
	case meta.IsStatusConditionTrue(m.Status.Conditions, clusterv1.MachineReadyCondition):
		return sighting{what: "runs " + m.Status.NodeInfo.KubeletVersion}
	}
	return sighting{what: "joins with " + m.Status.NodeInfo.KubeletVersion}
}
