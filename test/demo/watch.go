package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
)

const (
	lookEvery = 500 * time.Millisecond
	// percentStep is how much further an image must be to be worth a line.
	percentStep = 20
)

// watch prints what happens to the images until every one is where it should be.
func (d *demo) watch(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, d.timeout, fmt.Errorf("not every image arrived within %s", d.timeout))
	defer cancel()
	fmt.Fprintln(d.out, "\nThe images arrive:")
	began, said := time.Now(), map[string]sighting{}
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		images, err := d.images(ctx)
		if err != nil {
			return err
		}
		for _, img := range images {
			d.say(time.Since(began), img, said)
		}
		done, err := d.settled(ctx, images)
		if done || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-d.manager.Done():
			return fmt.Errorf("the manager ended by itself: %w", errors.Join(d.manager.Err(), errors.New(d.manager.Tail())))
		case <-tick.C:
		}
	}
}

func (d *demo) images(ctx context.Context) ([]infrav1.CloudStackImage, error) {
	var list infrav1.CloudStackImageList
	if err := d.client.List(ctx, &list, client.InNamespace(namespace)); err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, fmt.Errorf("listing images: %w", err)
	}
	slices.SortFunc(list.Items, func(a, b infrav1.CloudStackImage) int { return strings.Compare(a.Name, b.Name) })
	return list.Items, nil
}

// sighting is what was last said of an image.
type sighting struct {
	phase   infrav1.ImagePhase
	percent int32
}

func (d *demo) say(after time.Duration, img infrav1.CloudStackImage, said map[string]sighting) {
	now := sighting{phase: phaseOf(&img)}
	if p := img.Status.Progress; p != nil && p.Percent != nil {
		now.percent = *p.Percent
	}
	was, known := said[img.Name]
	if known && was.phase == now.phase && now.percent < was.percent+percentStep {
		return
	}
	said[img.Name] = now
	percent := ""
	if now.percent > 0 && now.phase != infrav1.PhaseReady {
		percent = fmt.Sprintf("%d %%", now.percent)
	}
	fmt.Fprintf(d.out, "%6.1fs  %-58s  %-12s %s\n", after.Seconds(), img.Name, now.phase, percent)
}

func phaseOf(img *infrav1.CloudStackImage) infrav1.ImagePhase {
	switch {
	case meta.IsStatusConditionTrue(img.Status.Conditions, infrav1.ConditionReady):
		return infrav1.PhaseReady
	case img.Status.Progress == nil:
		return infrav1.PhasePending
	}
	return img.Status.Progress.Phase
}

// settled tells whether every catalog has made its images, the good ones are ready and the hostile one is refused. An image that
// failed although it is good ends the demo at once.
func (d *demo) settled(ctx context.Context, images []infrav1.CloudStackImage) (bool, error) {
	var catalogs infrav1.TemplateCatalogList
	if err := d.client.List(ctx, &catalogs, client.InNamespace(namespace)); err != nil {
		return false, fmt.Errorf("listing catalogs: %w", err)
	}
	made := map[string]int{}
	for i := range images {
		img := &images[i]
		catalog := img.Labels[infrav1.LabelCatalog]
		made[catalog]++
		phase := phaseOf(img)
		switch {
		case catalog != hostileCatalog && phase == infrav1.PhaseFailed:
			return false, fmt.Errorf("%s failed: %s", img.Name, verdict(img))
		case catalog == hostileCatalog && phase == infrav1.PhaseReady:
			return false, fmt.Errorf("%s is ready, but it must be refused", img.Name)
		case phase != infrav1.PhaseReady && phase != infrav1.PhaseFailed:
			return false, nil
		}
	}
	for _, c := range catalogs.Items {
		if made[c.Name] == 0 {
			return false, nil
		}
	}
	return true, nil
}

// verdict is the reason why an image is not ready, for people.
func verdict(img *infrav1.CloudStackImage) string {
	c := meta.FindStatusCondition(img.Status.Conditions, infrav1.ConditionReady)
	if c == nil {
		return "nothing has been said about it"
	}
	reason := c.Reason
	if code := img.Status.ContentCode; code != "" && !strings.Contains(c.Message, code) {
		reason += "/" + code
	}
	return reason + ": " + c.Message
}

// explain adds to an error what a person needs to find the cause.
func (d *demo) explain(err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	var b strings.Builder
	images, listErr := d.images(ctx)
	if listErr == nil {
		for i := range images {
			fmt.Fprintf(&b, "\n  %s: %s: %s", images[i].Name, phaseOf(&images[i]), verdict(&images[i]))
		}
	}
	var catalogs infrav1.TemplateCatalogList
	if d.client.List(ctx, &catalogs) == nil {
		for _, c := range catalogs.Items {
			if ready := meta.FindStatusCondition(c.Status.Conditions, infrav1.ConditionReady); ready != nil {
				fmt.Fprintf(&b, "\n  catalog %s: %s: %s", c.Name, ready.Reason, ready.Message)
			} else {
				fmt.Fprintf(&b, "\n  catalog %s: nothing has been said about it", c.Name)
			}
		}
	}
	return fmt.Errorf("%w%s\n\nEnd of the manager's log (all of it is in %s):\n%s", err, b.String(), d.dir, d.manager.Tail())
}
