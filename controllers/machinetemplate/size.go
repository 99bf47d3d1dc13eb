package machinetemplate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/controllers/cloudstack"
	"github.com/capcat/capcat/controllers/internal/ending"
	"github.com/capcat/capcat/controllers/internal/step"
	"github.com/capcat/capcat/imagecatalog"
)

// chooseSize finds the service offering that machines would get.
func (r *Reconciler) chooseSize(ctx context.Context, s *scope) error {
	offering := &s.spec().Offering
	request := imagecatalog.SizeRequest{ID: offering.ID, Name: offering.Name, Minimum: offering.Minimum}
	if offering.Class != "" {
		choice, why, err := r.classOf(ctx, s, offering.Class)
		if err != nil {
			return err
		}
		request = imagecatalog.SizeRequest{ID: choice.ID, Name: choice.Name, Minimum: choice.Minimum}
		s.why = why + ": "
	}
	request.CPUs, request.MemoryMiB = detail(s.spec().Details, "cpuNumber"), detail(s.spec().Details, "memory")
	offerings, err := s.session.ServiceOfferings(ctx, s.owner, s.zoneID)
	if err != nil {
		return searchFailure("listing the service offerings", infrav1.ReasonOfferingNotFound, err)
	}
	size, why, err := imagecatalog.ChooseSize(sizesOf(offerings), request)
	if err != nil {
		return sizeFailure(err)
	}
	s.size = size
	s.why += why
	return nil
}

// classOf asks the catalogs what a class means for the version that the machines of this template have.
func (r *Reconciler) classOf(ctx context.Context, s *scope, class string) (infrav1.OfferingChoice, string, error) {
	version, err := r.version(ctx, s)
	if err != nil {
		return infrav1.OfferingChoice{}, "", err
	}
	choice, why, err := imagecatalog.ClassOf(s.catalogs, class, version)
	if err != nil {
		return choice, "", sizeFailure(err)
	}
	return choice, why, nil
}

// version is the newest of the MachineDeployments that use the template, else that of the cluster's topology, else the
// newest that a catalog has ready.
func (r *Reconciler) version(ctx context.Context, s *scope) (imagecatalog.Version, error) {
	var list clusterv1.MachineDeploymentList
	if err := r.client.List(ctx, &list, client.InNamespace(s.template.Namespace)); err != nil {
		return imagecatalog.Version{}, fmt.Errorf("listing the MachineDeployments: %w", err)
	}
	var texts []string
	for i := range list.Items {
		if uses(&list.Items[i], s.template.Name) {
			texts = append(texts, list.Items[i].Spec.Template.Spec.Version)
		}
	}
	if v, ok := newest(texts); ok {
		return v, nil
	}
	if s.cluster != nil {
		if v, ok := newest([]string{s.cluster.Spec.Topology.Version}); ok {
			return v, nil
		}
	}
	texts = nil
	for i := range s.catalogs {
		texts = append(texts, string(s.catalogs[i].Status.NewestKubernetesVersion))
	}
	if v, ok := newest(texts); ok {
		return v, nil
	}
	return imagecatalog.Version{}, &step.Waiting{
		Reason:  infrav1.ReasonVersionMissing,
		Message: "what an offering class means depends on the Kubernetes version: no MachineDeployment uses the template, and no catalog has a version ready",
	}
}

func newest(texts []string) (imagecatalog.Version, bool) {
	var best imagecatalog.Version
	found := false
	for _, text := range texts {
		if v, err := imagecatalog.ParseVersion(text); err == nil && (!found || v.Compare(best) > 0) {
			best, found = v, true
		}
	}
	return best, found
}

func uses(d *clusterv1.MachineDeployment, template string) bool {
	ref := d.Spec.Template.Spec.InfrastructureRef
	return ref.APIGroup == infrav1.GroupName && ref.Kind == "CloudStackMachineTemplate" && ref.Name == template
}

// detail reads a number that a machine says for a custom offering. CloudStack ignores the case of the key.
func detail(details map[string]infrav1.MachineDetailValue, key string) int64 {
	for k, v := range details {
		if n, err := strconv.ParseInt(string(v), 10, 64); err == nil && n > 0 && strings.EqualFold(k, key) {
			return n
		}
	}
	return 0
}

func sizesOf(offerings []cloudstack.ServiceOffering) []imagecatalog.Size {
	sizes := make([]imagecatalog.Size, 0, len(offerings))
	for _, o := range offerings {
		sizes = append(sizes, imagecatalog.Size{
			ID: o.ID, Name: o.Name, CPUs: o.CPUs, SpeedMHz: o.SpeedMHz, MemoryMiB: o.MemoryMiB, Custom: o.Custom,
			MinCPUs: o.MinCPUs, MaxCPUs: o.MaxCPUs, MinMemoryMiB: o.MinMemoryMiB, MaxMemoryMiB: o.MaxMemoryMiB,
			RootDiskGiB: o.RootDiskGiB, Local: o.Local, Tags: strings.Join(slices.Concat(o.HostTags, o.StorageTags), ","),
		})
	}
	return sizes
}

func sizeFailure(err error) error {
	var refused *imagecatalog.SizeError
	if errors.As(err, &refused) {
		return &step.Failed{Reason: refused.Reason, Message: refused.Message, After: ending.Slow}
	}
	return err
}

// findArch finds the architecture of the image: what the template asks for, or that of the image a fixed template is.
func (r *Reconciler) findArch(ctx context.Context, s *scope) error {
	fixed := s.spec().Template
	if fixed == nil {
		s.arch = infrav1.ArchX8664
		if image := s.spec().Image; image != nil {
			s.arch = cmp.Or(image.Arch, infrav1.ArchX8664)
		}
		return nil
	}
	var images infrav1.CloudStackImageList
	if err := r.client.List(ctx, &images, client.InNamespace(s.template.Namespace)); err != nil {
		return fmt.Errorf("listing the images: %w", err)
	}
	for i := range images.Items {
		status := &images.Items[i].Status
		if status.ZoneID == s.zoneID && isTemplate(fixed, status) {
			s.arch = cmp.Or(images.Items[i].Spec.Arch, infrav1.ArchX8664)
			return nil
		}
	}
	return s.askForArch(ctx, fixed)
}

// archAge is how old an answer about a template may be.
const archAge = 10 * time.Minute

// askForArch asks CloudStack for the architecture of a template that is no image of ours. Servers before 4.20 do not know it,
// and a template that is not found, or found several times, has none: its machines tell.
func (s *scope) askForArch(ctx context.Context, fixed *infrav1.ResourceIdentifier) error {
	var found []cloudstack.Template
	var err error
	if fixed.ID != "" {
		found = make([]cloudstack.Template, 1)
		found[0], err = s.session.RecentTemplate(ctx, s.owner, s.zoneID, fixed.ID, archAge)
	} else {
		found, err = s.session.RecentDeployableTemplates(ctx, s.owner, s.zoneID, fixed.Name, archAge)
	}
	if err != nil && !cloudstack.Is(err, cloudstack.NotFound) {
		return searchFailure("finding the template", infrav1.ReasonTemplateNotFound, err)
	}
	if err == nil && len(found) == 1 {
		s.arch = infrav1.Arch(found[0].Arch)
	}
	return nil
}

func isTemplate(fixed *infrav1.ResourceIdentifier, image *infrav1.CloudStackImageStatus) bool {
	if image.TemplateID == "" {
		return false
	}
	if fixed.ID != "" {
		return strings.EqualFold(fixed.ID, image.TemplateID)
	}
	return fixed.Name == image.TemplateName
}
