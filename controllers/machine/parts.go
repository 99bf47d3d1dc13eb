package machine

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/controllers/cloudstack"
	"github.com/capcat/capcat/controllers/internal/ending"
	"github.com/capcat/capcat/imagecatalog"
)

const gib = 1 << 30

// recent is how old an answer may be about something that many machines ask for.
const recent = time.Minute

// findTemplate finds a template by id, or the only one of that name that may be deployed.
func (s *scope) findTemplate(ctx context.Context, ref *infrav1.ResourceIdentifier) (cloudstack.Template, error) {
	if ref.ID != "" {
		t, err := s.session.RecentTemplate(ctx, s.place.owner, s.place.zoneID, ref.ID, recent)
		if err != nil {
			return t, searchFailure(infrav1.ReasonTemplateNotFound, "finding the template", err)
		}
		if ref.Name != "" && t.Name != ref.Name {
			return t, ending.Lacking(infrav1.ReasonTemplateNotFound, "the template %s is named %q and not %q", ref.ID, t.Name, ref.Name)
		}
		return t, nil
	}
	found, err := s.session.RecentDeployableTemplates(ctx, s.place.owner, s.place.zoneID, ref.Name, recent)
	if err != nil {
		return cloudstack.Template{}, apiFailure("looking for the template", err)
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return cloudstack.Template{}, ending.Lacking(infrav1.ReasonTemplateNotFound, "no template that may be deployed is named %q in the zone", ref.Name)
	}
	ids := make([]string, 0, len(found))
	for _, t := range found {
		ids = append(ids, t.ID)
	}
	return cloudstack.Template{}, ending.Lacking(infrav1.ReasonTemplateAmbiguous, "%d templates are named %q: give one of the ids %s", len(found), ref.Name, strings.Join(ids, ", "))
}

// chooseOffering finds the service offering: by id or name, by what the catalogs say of its class, or the smallest.
func (r *Reconciler) chooseOffering(ctx context.Context, s *scope, version string) (cloudstack.ServiceOffering, string, error) {
	ref := &s.m.Spec.Offering
	request := imagecatalog.SizeRequest{ID: ref.ID, Name: ref.Name, Minimum: ref.Minimum}
	because := ""
	if ref.Class != "" {
		choice, why, err := r.classOf(ctx, s, ref.Class, version)
		if err != nil {
			return cloudstack.ServiceOffering{}, "", err
		}
		request = imagecatalog.SizeRequest{ID: choice.ID, Name: choice.Name, Minimum: choice.Minimum}
		because = why + ": "
	}
	request.CPUs, request.MemoryMiB = number(s.m.Spec.Details, "cpuNumber"), number(s.m.Spec.Details, "memory")
	offerings, err := s.session.ServiceOfferings(ctx, s.place.owner, s.place.zoneID)
	if err != nil {
		return cloudstack.ServiceOffering{}, "", searchFailure(infrav1.ReasonOfferingNotFound, "listing the service offerings", err)
	}
	sizes := make([]imagecatalog.Size, 0, len(offerings))
	for _, o := range offerings {
		sizes = append(sizes, imagecatalog.Size{
			ID: o.ID, Name: o.Name, CPUs: o.CPUs, SpeedMHz: o.SpeedMHz, MemoryMiB: o.MemoryMiB, Custom: o.Custom,
			MinCPUs: o.MinCPUs, MaxCPUs: o.MaxCPUs, MinMemoryMiB: o.MinMemoryMiB, MaxMemoryMiB: o.MaxMemoryMiB,
			RootDiskGiB: o.RootDiskGiB, Local: o.Local, Tags: strings.Join(slices.Concat(o.HostTags, o.StorageTags), ","),
		})
	}
	size, why, err := imagecatalog.ChooseSize(sizes, request)
	if err != nil {
		return cloudstack.ServiceOffering{}, "", sizeFailure(err)
	}
	at := slices.IndexFunc(offerings, func(o cloudstack.ServiceOffering) bool { return o.ID == size.ID })
	return offerings[at], because + why, nil
}

func (r *Reconciler) classOf(ctx context.Context, s *scope, class, version string) (infrav1.OfferingChoice, string, error) {
	v, err := imagecatalog.ParseVersion(version)
	if err != nil {
		return infrav1.OfferingChoice{}, "", ending.Lacking(infrav1.ReasonVersionMissing,
			"what the offering class %q means depends on the Kubernetes version, and neither Machine nor template tell it", class)
	}
	var list infrav1.TemplateCatalogList
	if err := r.client.List(ctx, &list, client.InNamespace(s.key.Namespace)); err != nil {
		return infrav1.OfferingChoice{}, "", fmt.Errorf("listing the catalogs: %w", err)
	}
	named := s.infra.Spec.Catalogs
	catalogs := slices.DeleteFunc(list.Items, func(c infrav1.TemplateCatalog) bool {
		return len(named) > 0 && !slices.ContainsFunc(named, func(n infrav1.CatalogReference) bool { return n.Name == c.Name })
	})
	choice, why, err := imagecatalog.ClassOf(catalogs, class, v)
	if err != nil {
		return choice, "", sizeFailure(err)
	}
	return choice, why, nil
}

// number reads a detail of a custom offering; 0 when it is not there or no number.
func number(details map[string]infrav1.MachineDetailValue, key string) int64 {
	n, err := strconv.ParseInt(string(details[key]), 10, 64)
	if err != nil {
		return 0
	}
	return max(n, 0)
}

// checkRootDisk refuses a root disk that the image does not fit on. CloudStack would too, but only after the machine had
// been decided on.
func (s *scope) checkRootDisk(image chosenImage, offering cloudstack.ServiceOffering) error {
	size, from := int64(s.m.Spec.RootDiskSizeGiB), "rootDiskSizeGiB"
	if size == 0 {
		for key := range s.m.Spec.Details {
			if strings.EqualFold(key, "rootdisksize") {
				size, from = number(s.m.Spec.Details, key), "the detail "+key
			}
		}
	}
	if size == 0 && offering.RootDiskGiB > 0 {
		size, from = offering.RootDiskGiB, fmt.Sprintf("the offering %q", offering.Name)
	}
	if size == 0 || image.bytes <= size*gib {
		return nil
	}
	return ending.Lacking(infrav1.ReasonRootDiskTooSmall, "%s asks for a root disk of %d GiB and the template %q needs %d GiB (%d bytes)",
		from, size, image.templateName, (image.bytes+gib-1)/gib, image.bytes)
}

// chooseDisk finds the disk offering of the data disk.
func (s *scope) chooseDisk(ctx context.Context) (cloudstack.DiskOffering, error) {
	ref := s.m.Spec.DataDisk()
	all, err := s.session.DiskOfferings(ctx, s.place.owner, s.place.zoneID)
	if err != nil {
		return cloudstack.DiskOffering{}, searchFailure(infrav1.ReasonDiskOfferingNotFound, "listing the disk offerings", err)
	}
	var found []cloudstack.DiskOffering
	var ids, names []string
	for _, o := range all {
		names = append(names, o.Name)
		if ref.ID != "" && strings.EqualFold(o.ID, ref.ID) || ref.ID == "" && o.Name == ref.Name {
			found = append(found, o)
			ids = append(ids, o.ID)
		}
	}
	slices.Sort(names)
	switch {
	case len(found) == 0:
		return cloudstack.DiskOffering{}, ending.Lacking(infrav1.ReasonDiskOfferingNotFound, "there is no disk offering %s; there are: %s", askedFor(ref.ID, ref.Name), shortList(names))
	case len(found) > 1:
		return cloudstack.DiskOffering{}, ending.Lacking(infrav1.ReasonDiskOfferingAmbiguous, "%d disk offerings are named %q: give one of the ids %s", len(found), ref.Name, shortList(ids))
	case ref.Name != "" && found[0].Name != ref.Name:
		return cloudstack.DiskOffering{}, ending.Lacking(infrav1.ReasonDiskOfferingNotFound, "the disk offering %s is named %q and not %q", ref.ID, found[0].Name, ref.Name)
	case found[0].Custom && ref.CustomSize == 0:
		return cloudstack.DiskOffering{}, ending.Lacking(infrav1.ReasonDiskSizeInvalid, "the disk offering %q is a custom one: give customSizeInGB", found[0].Name)
	case !found[0].Custom && ref.CustomSize != 0:
		return cloudstack.DiskOffering{}, ending.Lacking(infrav1.ReasonDiskSizeInvalid, "the disk offering %q has a fixed size of %d GiB: remove customSizeInGB", found[0].Name, found[0].SizeGiB)
	}
	return found[0], nil
}

func askedFor(id, name string) string {
	if id != "" {
		return "with the id " + id
	}
	return "named " + strconv.Quote(name)
}

// longestList bounds the names in a message.
const longestList = 10

func shortList(items []string) string {
	switch {
	case len(items) == 0:
		return "none"
	case len(items) > longestList:
		return fmt.Sprintf("%s and %d more", strings.Join(items[:longestList], ", "), len(items)-longestList)
	}
	return strings.Join(items, ", ")
}

// chooseNetworks finds the networks of the machine, that of the failure domain where it names none.
func (s *scope) chooseNetworks(ctx context.Context) (networks []infrav1.ResolvedMachineNetwork, why string, err error) {
	if len(s.m.Spec.Networks) == 0 {
		if s.place.network.ID == "" {
			return nil, "", ending.Lacking(infrav1.ReasonNetworkNotFound, "neither the machine nor the failure domain %s names a network", s.place.domain)
		}
		return []infrav1.ResolvedMachineNetwork{s.place.network}, "that of the failure domain", nil
	}
	for _, ref := range s.m.Spec.Networks {
		n, err := s.findNetwork(ctx, ref)
		if err != nil {
			return nil, "", err
		}
		n.IP = ref.IP
		networks = append(networks, n)
	}
	if b := s.balancer(); b != nil && b.NetworkID == s.place.network.ID && networks[0].ID != b.NetworkID {
		return nil, "", ending.Lacking(infrav1.ReasonNetworkUnsuitable,
			"the first network of a control-plane machine must be that of its failure domain, %q, which holds the load balancer, and not %q",
			s.place.network.Name, networks[0].Name)
	}
	return networks, "as spec.networks asks", nil
}

func (s *scope) findNetwork(ctx context.Context, ref infrav1.MachineNetwork) (infrav1.ResolvedMachineNetwork, error) {
	if own := s.place.network; own.ID != "" && (strings.EqualFold(ref.ID, own.ID) || ref.ID == "" && ref.Name == own.Name) {
		return own, nil
	}
	if ref.ID != "" {
		n, err := s.session.RecentNetwork(ctx, s.place.owner, ref.ID, recent)
		switch {
		case err != nil:
			return infrav1.ResolvedMachineNetwork{}, searchFailure(infrav1.ReasonNetworkNotFound, "finding the network "+ref.ID, err)
		case n.ZoneID != s.place.zoneID:
			return infrav1.ResolvedMachineNetwork{}, ending.Lacking(infrav1.ReasonNetworkUnsuitable, "the network %q (%s) is in another zone", n.Name, n.ID)
		}
		return infrav1.ResolvedMachineNetwork{ID: n.ID, Name: n.Name}, nil
	}
	found, err := s.session.RecentNetworksNamed(ctx, s.place.owner, s.place.zoneID, ref.Name, recent)
	if err != nil {
		return infrav1.ResolvedMachineNetwork{}, apiFailure("looking for the network", err)
	}
	switch len(found) {
	case 1:
		return infrav1.ResolvedMachineNetwork{ID: found[0].ID, Name: found[0].Name}, nil
	case 0:
		return infrav1.ResolvedMachineNetwork{}, ending.Lacking(infrav1.ReasonNetworkNotFound, "no network that may be used is named %q in the zone", ref.Name)
	}
	ids := make([]string, 0, len(found))
	for _, n := range found {
		ids = append(ids, n.ID)
	}
	return infrav1.ResolvedMachineNetwork{}, ending.Lacking(infrav1.ReasonNetworkAmbiguous, "%d networks are named %q: give one of the ids %s", len(found), ref.Name, shortList(ids))
}

// checkKey makes sure that the SSH key exists.
func (s *scope) checkKey(ctx context.Context) error {
	if s.m.Spec.SSHKey == "" {
		return nil
	}
	if _, err := s.session.FindSSHKey(ctx, s.place.owner, s.m.Spec.SSHKey); err != nil {
		return searchFailure(infrav1.ReasonSSHKeyNotFound, fmt.Sprintf("finding the SSH key %q", s.m.Spec.SSHKey), err)
	}
	return nil
}
