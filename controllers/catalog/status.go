package catalog

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/controllers/internal/ending"
	"github.com/capcat/capcat/controllers/internal/step"
	"github.com/capcat/capcat/imagecatalog"
)

const (
	// longestList bounds what a message names; the rest is a number.
	longestList = 5
	// longestZones is the bound of status.zones.
	longestZones = 256
	// mostVersions is the bound of status.kubernetesVersions; the newest are kept.
	mostVersions = 1000
)

// judge ends a reconcile that did all its work: zones that could not be served are tried again.
func (r *Reconciler) judge(_ context.Context, s *scope) error {
	if s.catalog.Spec.Suspend {
		return &step.Waiting{Reason: infrav1.ReasonSuspended, Message: "spec.suspend stops all work"}
	}
	for _, zone := range s.catalog.Spec.Zones {
		if trouble, ok := s.unresolved[zone.ZoneReference]; ok {
			return &step.Failed{Reason: trouble.reason, Message: trouble.message, After: zoneRetry}
		}
	}
	if s.credentialsErr != nil {
		reason := ending.SecretReason(s.credentialsErr)
		if reason == "" {
			return fmt.Errorf("reading the credentials: %w", s.credentialsErr)
		}
		return &step.Waiting{Reason: reason, Message: s.credentialsErr.Error()}
	}
	return nil
}

// observe computes the status from what the phases saw and how they ended.
func observe(s *scope, outcome error) {
	status := &s.catalog.Status
	if s.paused() {
		reason, message := ending.Reasons{}.Describe(outcome)
		setCondition(s, infrav1.ConditionReady, metav1.ConditionFalse, reason, message)
		return
	}
	status.ObservedGeneration = s.catalog.Generation
	status.Zones = zonesText(s.catalog.Spec.Zones)
	if s.credentialsKnown {
		observeCredentials(s)
	}
	if s.plannedAll {
		observeImages(s)
	}
	observeReady(s, outcome)
}

func observeCredentials(s *scope) {
	if s.credentialsErr != nil {
		setCondition(s, infrav1.ConditionCredentialsAvailable, metav1.ConditionFalse, credentialsReason(s.credentialsErr), s.credentialsErr.Error())
		return
	}
	name := s.catalog.Spec.IdentityRef.Name
	setCondition(s, infrav1.ConditionCredentialsAvailable, metav1.ConditionTrue, infrav1.ReasonReady, fmt.Sprintf("the Secret %s has what is needed", name))
}

// observeImages counts the images that are wanted.
func observeImages(s *scope) {
	t := countImages(s)
	s.catalog.Status.Images = &infrav1.ImageCounts{
		Total: t.total, Ready: t.ready, Failed: int32(len(t.failed)), Summary: fmt.Sprintf("%d/%d", t.ready, t.total),
	}
	versions := readyEverywhere(s)
	s.catalog.Status.KubernetesVersions = versions
	s.catalog.Status.NewestKubernetesVersion = ""
	if len(versions) > 0 {
		s.catalog.Status.NewestKubernetesVersion = versions[len(versions)-1]
	}
	switch {
	case len(t.failed) > 0:
		setCondition(s, infrav1.ConditionImagesReady, metav1.ConditionFalse, infrav1.ReasonImagesFailed,
			fmt.Sprintf("%d of %d images failed: %s", len(t.failed), t.total, listText(t.failed)))
	case t.total == 0:
		setCondition(s, infrav1.ConditionImagesReady, metav1.ConditionTrue, infrav1.ReasonNoImages, "the catalog wants no image")
	case t.ready < t.total:
		setCondition(s, infrav1.ConditionImagesReady, metav1.ConditionFalse, infrav1.ReasonProgressing,
			fmt.Sprintf("%d of %d images are ready", t.ready, t.total))
	default:
		setCondition(s, infrav1.ConditionImagesReady, metav1.ConditionTrue, infrav1.ReasonReady, fmt.Sprintf("all %d images are ready", t.total))
	}
}

// tally counts the images of a catalog. failed has a line for each image that failed.
type tally struct {
	total, ready int32
	failed       []string
}

func countImages(s *scope) tally {
	var t tally
	for _, item := range s.planned.Wanted() {
		t.total++
		image := s.images[item.Name]
		if image == nil || !image.DeletionTimestamp.IsZero() {
			continue
		}
		ready := meta.FindStatusCondition(image.Status.Conditions, infrav1.ConditionReady)
		switch {
		case isReady(image):
			t.ready++
		case ready != nil && image.Status.Progress != nil && image.Status.Progress.Phase == infrav1.PhaseFailed:
			t.failed = append(t.failed, image.Name+" ("+ready.Reason+")")
		}
	}
	return t
}

// isReady says whether an image is ready as its spec stands now.
func isReady(image *infrav1.CloudStackImage) bool {
	return meta.IsStatusConditionTrue(image.Status.Conditions, infrav1.ConditionReady)
}

// readyEverywhere gives the versions that have a ready image in every zone of the catalog, oldest first.
func readyEverywhere(s *scope) []infrav1.KubernetesVersion {
	zones := map[infrav1.ZoneReference]bool{}
	for _, zone := range s.catalog.Spec.Zones {
		zones[zone.ZoneReference] = true
	}
	ready := map[string]map[infrav1.ZoneReference]bool{}
	versions := map[string]imagecatalog.Version{}
	for _, item := range s.planned.Wanted() {
		image := s.images[item.Name]
		if image == nil || !image.DeletionTimestamp.IsZero() || !isReady(image) {
			continue
		}
		key := item.Entry.Version.String()
		if ready[key] == nil {
			ready[key] = map[infrav1.ZoneReference]bool{}
		}
		ready[key][item.Entry.Zone] = true
		versions[key] = item.Entry.Version
	}
	maps.DeleteFunc(versions, func(key string, _ imagecatalog.Version) bool { return len(ready[key]) < len(zones) })
	var out []infrav1.KubernetesVersion
	for _, v := range slices.SortedFunc(maps.Values(versions), imagecatalog.Version.Compare) {
		out = append(out, v.API())
	}
	return out[max(0, len(out)-mostVersions):]
}

// observeReady summarises: first what stopped the work, then changed content, then the images.
func observeReady(s *scope, outcome error) {
	images := meta.FindStatusCondition(s.catalog.Status.Conditions, infrav1.ConditionImagesReady)
	switch {
	case outcome != nil:
		reason, message := ending.Reasons{}.Describe(outcome)
		setCondition(s, infrav1.ConditionReady, metav1.ConditionFalse, reason, message)
	case len(s.planned.Changed) > 0:
		setCondition(s, infrav1.ConditionReady, metav1.ConditionFalse, infrav1.ReasonContentChanged, imagecatalog.DescribeChanged(s.planned.Changed))
	case images != nil:
		setCondition(s, infrav1.ConditionReady, images.Status, images.Reason, images.Message)
	}
}

// remaining says which images a deletion waits for, and why.
func (s *scope) remaining() string {
	var lines []string
	for _, image := range s.images {
		line := image.Name
		if ready := meta.FindStatusCondition(image.Status.Conditions, infrav1.ConditionReady); ready != nil && !image.DeletionTimestamp.IsZero() {
			line += " (" + ready.Reason + ")"
		}
		lines = append(lines, line)
	}
	slices.Sort(lines)
	return fmt.Sprintf("waiting for %d images to go: %s", len(lines), listText(lines))
}

// listText joins the first few of a list.
func listText(lines []string) string {
	if rest := len(lines) - longestList; rest > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(lines[:longestList], ", "), rest)
	}
	return strings.Join(lines, ", ")
}

// zonesText gives the zones for people.
func zonesText(zones []infrav1.CatalogZone) string {
	var names []string
	for _, zone := range zones {
		if name := cmp.Or(zone.Name, zone.ID); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	text := strings.Join(names, ",")
	if len(text) > longestZones {
		return fmt.Sprintf("%d zones", len(names))
	}
	return text
}

func setCondition(s *scope, conditionType string, status metav1.ConditionStatus, reason, message string) {
	ending.Put(&s.catalog.Status.Conditions, metav1.Condition{
		Type: conditionType, Status: status, Reason: reason, Message: message,
		ObservedGeneration: s.catalog.Generation, LastTransitionTime: metav1.NewTime(s.now),
	})
}
