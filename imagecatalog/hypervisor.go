package imagecatalog

import (
	"slices"

	"github.com/capcat/capcat/api/v1beta2"
)

// hypervisorFacts are the words by which published images name a hypervisor, and the formats it takes.
type hypervisorFacts struct {
	dir, suffix string
	formats     []v1beta2.Format // the first is the usual one
}

// factsOf gives what patterns need to know. Published images lie in kvm, vmware and xen, and only OVAs are not compressed.
func factsOf(h v1beta2.Hypervisor) hypervisorFacts {
	switch h {
	case v1beta2.HypervisorKVM:
		return hypervisorFacts{dir: "kvm", suffix: "qcow2.bz2", formats: []v1beta2.Format{v1beta2.FormatQCOW2, v1beta2.FormatRAW}}
	case v1beta2.HypervisorVMware:
		return hypervisorFacts{dir: "vmware", suffix: "ova", formats: []v1beta2.Format{v1beta2.FormatOVA}}
	case v1beta2.HypervisorXenServer:
		return hypervisorFacts{dir: "xen", suffix: "vhd.bz2", formats: []v1beta2.Format{v1beta2.FormatVHD}}
	case v1beta2.HypervisorSimulator:
		all := []v1beta2.Format{v1beta2.FormatVHD, v1beta2.FormatQCOW2, v1beta2.FormatRAW, v1beta2.FormatOVA}
		return hypervisorFacts{dir: "simulator", suffix: "vhd.bz2", formats: all}
	}
	return hypervisorFacts{}
}

// FormatFor is the format a hypervisor usually takes; empty for an unknown hypervisor.
func FormatFor(h v1beta2.Hypervisor) v1beta2.Format {
	if formats := factsOf(h).formats; len(formats) > 0 {
		return formats[0]
	}
	return ""
}

// Takes says whether a hypervisor takes a format.
func Takes(h v1beta2.Hypervisor, f v1beta2.Format) bool {
	return slices.Contains(factsOf(h).formats, f)
}

// realHypervisors are those a zone may turn out to have when it does not tell.
func realHypervisors() []v1beta2.Hypervisor {
	return []v1beta2.Hypervisor{v1beta2.HypervisorKVM, v1beta2.HypervisorVMware, v1beta2.HypervisorXenServer}
}
