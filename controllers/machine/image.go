package machine

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/controllers/internal/ending"
	"github.com/capcat/capcat/controllers/internal/step"
	"github.com/capcat/capcat/imagecatalog"
)

// chosenImage is what a machine boots from.
type chosenImage struct {
	templateID, templateName string
	// ref is the name of the CloudStackImage, if it is one.
	ref        string
	version    string
	os         string
	arch       infrav1.Arch
	hypervisor string
	// bytes is the size of the disk that the guest sees; 0 when unknown.
	bytes    int64
	why      string
	warnings []string
}

// chooseImage finds the template of the machine: the one that is fixed, or by the version of the Machine.
func (r *Reconciler) chooseImage(ctx context.Context, s *scope) (chosenImage, error) {
	images, err := r.images(ctx, s)
	if err != nil {
		return chosenImage{}, err
	}
	if s.m.Spec.Template != nil {
		r.waiting.leave(s.key)
		return s.fixedTemplate(ctx, images)
	}
	if s.machine == nil || s.machine.Spec.Version == "" {
		return chosenImage{}, ending.Lacking(infrav1.ReasonVersionMissing, "the Machine has no spec.version to look an image up by: set it, or fix a template")
	}
	version, err := imagecatalog.ParseVersion(s.machine.Spec.Version)
	if err != nil {
		return chosenImage{}, ending.Lacking(infrav1.ReasonInvalidSpec, "Machine.spec.version: %v", err)
	}
	r.waiting.wait(s.key, shelfOf(s.key.Namespace, version, s.place.zoneID))
	chosen, err := pickImage(images, s.request(version), s.place)
	if err != nil {
		return chosenImage{}, err
	}
	r.waiting.leave(s.key)
	return chosen, nil
}

// shelfOf leaves the build out: a request without one takes any.
func shelfOf(namespace string, v imagecatalog.Version, zoneID string) shelf {
	core, _, _ := strings.Cut(v.String(), "+")
	return shelf{namespace: namespace, version: core, zoneID: zoneID}
}

func (s *scope) request(version imagecatalog.Version) imagecatalog.Request {
	q := imagecatalog.Request{Version: version, Arch: infrav1.ArchX8664, Zone: s.place.zoneID, ZoneName: s.place.zoneName, Now: s.now}
	if len(s.place.hypervisors) == 1 {
		q.Hypervisor = infrav1.Hypervisor(s.place.hypervisors[0])
	}
	if wanted := s.m.Spec.Image; wanted != nil {
		q.OS, q.Image, q.Builds = wanted.OS, wanted.Name, imagecatalog.BuildPolicy(wanted.Builds)
		if wanted.Arch != "" {
			q.Arch = wanted.Arch
		}
	}
	return q
}

// images lists what the catalogs of the cluster made and, when it names none, also what people made by hand.
func (r *Reconciler) images(ctx context.Context, s *scope) ([]infrav1.CloudStackImage, error) {
	var list infrav1.CloudStackImageList
	if err := r.client.List(ctx, &list, client.InNamespace(s.key.Namespace)); err != nil {
		return nil, fmt.Errorf("listing the images: %w", err)
	}
	return imagecatalog.Offered(list.Items, s.infra.Spec.Catalogs), nil
}

// pickImage chooses among the images that are ready. An image that would fit and is not ready yet is worth waiting for.
func pickImage(images []infrav1.CloudStackImage, q imagecatalog.Request, p place) (chosenImage, error) {
	var ready, all []imagecatalog.Candidate
	byName := make(map[string]*infrav1.CloudStackImage, len(images))
	for i := range images {
		img := &images[i]
		c, ok := imagecatalog.CandidateAt(img, p.site())
		if !ok {
			continue
		}
		byName[img.Name] = img
		all = append(all, c)
		if imagecatalog.Deployable(img) {
			ready = append(ready, c)
		}
	}
	choice, err := imagecatalog.Resolve(ready, q)
	if err == nil {
		img := byName[choice.Candidate.ID]
		return chosenImage{
			templateID: img.Status.TemplateID, templateName: img.Status.TemplateName, ref: img.Name, version: choice.Candidate.Version.String(),
			os: string(img.Spec.OS), arch: choice.Candidate.Arch, hypervisor: string(choice.Candidate.Hypervisor),
			bytes: img.Status.VirtualSizeBytes, why: choice.Why, warnings: choice.Warnings,
		}, nil
	}
	var several *imagecatalog.AmbiguousError
	if errors.As(err, &several) {
		return chosenImage{}, &step.Failed{Reason: infrav1.ReasonImageAmbiguous, Message: several.Message + candidatesText(several.Candidates), After: ending.Slow, Err: err}
	}
	if coming, comingErr := imagecatalog.Resolve(all, q); comingErr == nil {
		img := byName[coming.Candidate.ID]
		return chosenImage{}, &step.Waiting{Reason: infrav1.ReasonImageNotReady, Message: fmt.Sprintf("the image %s is not ready yet%s", img.Name, stateOf(img))}
	}
	// The images that come nearest may be among those that are not ready.
	_, err = imagecatalog.Resolve(all, q)
	var missing *imagecatalog.NotFoundError
	if errors.As(err, &missing) {
		message := fmt.Sprintf("no image of %s fits in %s: %s%s", q.Version, p.site().Name(), missing.Message, candidatesText(missing.Near))
		return chosenImage{}, &step.Waiting{Reason: infrav1.ReasonImageNotFound, Message: message}
	}
	return chosenImage{}, &step.Waiting{Reason: infrav1.ReasonImageNotReady, Message: "several images fit and none is ready yet: " + err.Error()}
}

func stateOf(img *infrav1.CloudStackImage) string {
	c := meta.FindStatusCondition(img.Status.Conditions, infrav1.ConditionReady)
	if c == nil {
		return ""
	}
	return fmt.Sprintf(" (%s: %s)", c.Reason, c.Message)
}

func candidatesText(all []imagecatalog.Candidate) string {
	if len(all) == 0 {
		return ""
	}
	names := make([]string, 0, len(all))
	for _, c := range all {
		names = append(names, fmt.Sprintf("%s (%s, %s, %s)", c.ID, c.Version, c.OS, c.Arch))
	}
	return "; candidates: " + strings.Join(names, ", ")
}

// fixedTemplate finds the template that the spec names. When it is known which version it holds, that must be the Machine's.
func (s *scope) fixedTemplate(ctx context.Context, images []infrav1.CloudStackImage) (chosenImage, error) {
	t, err := s.findTemplate(ctx, s.m.Spec.Template)
	if err != nil {
		return chosenImage{}, err
	}
	if !t.Ready {
		return chosenImage{}, &step.Failed{
			Reason: infrav1.ReasonTemplateNotReady, After: ending.Slow,
			Message: fmt.Sprintf("the template %q (%s) cannot be deployed yet: %s %s", t.Name, t.ID, t.State.Stage, t.State.Message),
		}
	}
	chosen := chosenImage{
		templateID: t.ID, templateName: t.Name, hypervisor: t.Hypervisor, bytes: max(t.SizeBytes, 0),
		version: t.Details[infrav1.MarkKubernetesVersion], why: "fixed by spec.template",
	}
	for i := range images {
		if img := &images[i]; img.Status.TemplateID == t.ID && img.Status.ZoneID == s.place.zoneID {
			chosen.ref, chosen.version = img.Name, string(img.Spec.KubernetesVersion)
			chosen.os, chosen.arch = string(img.Spec.OS), img.Spec.Arch
		}
	}
	if arch := infrav1.Arch(t.Arch); chosen.arch == "" && arch.Node() != "" {
		chosen.arch = arch
	}
	if s.machine == nil || s.machine.Spec.Version == "" {
		return chosen, nil
	}
	if chosen.version == "" {
		chosen.version = s.machine.Spec.Version
		return chosen, nil
	}
	if !sameVersion(chosen.version, s.machine.Spec.Version) {
		return chosenImage{}, ending.Lacking(infrav1.ReasonVersionMismatch,
			"the Machine asks for %s and the template %q (%s) holds %s: change one of them, or remove spec.template to have an image looked up",
			s.machine.Spec.Version, t.Name, t.ID, chosen.version)
	}
	return chosen, nil
}

// sameVersion compares what is asked for with what is there. A request without build takes any.
func sameVersion(there, asked string) bool {
	a, errA := imagecatalog.ParseVersion(there)
	b, errB := imagecatalog.ParseVersion(asked)
	if errA != nil || errB != nil {
		return there == asked
	}
	return a.Holds(b)
}
