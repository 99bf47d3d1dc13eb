package imagecatalog

import (
	infrav1 "github.com/capcat/capcat/api/v1beta2"
)

// misfit is what keeps a candidate from a request, whatever its version.
type misfit string

// The misfits, in the order in which they are looked for. They double as the causes of a NotFoundError.
const (
	fits          misfit = ""
	misImage      misfit = "NotThatImage"
	misOS         misfit = "NotForOS"
	misArch       misfit = "NotForArch"
	misHypervisor misfit = "NotForHypervisor"
	misZone       misfit = "NotInZone"
	misExpired    misfit = "Expired"
	misPreview    misfit = "PreviewOnly"
)

// misfit compares everything but the version.
func (r Request) misfit(c Candidate) misfit {
	switch {
	case r.Image != "" && c.Image != r.Image:
		return misImage
	case r.OS != "" && c.OS != r.OS:
		return misOS
	case r.Arch != "" && c.Arch != r.Arch:
		return misArch
	case r.Hypervisor != "" && c.Hypervisor != "" && c.Hypervisor != r.Hypervisor:
		return misHypervisor
	case r.Zone != "" && c.Zone.Name != r.Zone && c.Zone.ID != r.Zone:
		return misZone
	case c.Life.Expired(r.Now):
		return misExpired
	case c.Life.Stage == infrav1.StagePreview && r.Image == "":
		return misPreview
	}
	return fits
}
