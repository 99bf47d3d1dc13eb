package imagecatalog

import (
	"slices"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
)

// hypervisorFacts are the words by which published images name a hypervisor, and the formats it takes.
type hypervisorFacts struct {
	dir, suffix string
	formats     []infrav1.Format // the first is the usual one
}

// factsOf gives what patterns need to know. Published images lie in kvm, vmware and xen, and only OVAs are not compressed.
func factsOf(h infrav1.Hypervisor) hypervisorFacts {
	switch h {
	case infrav1.HypervisorKVM:
		return hypervisorFacts{dir: "kvm", suffix: "qcow2.bz2", formats: []infrav1.Format{infrav1.FormatQCOW2, infrav1.FormatRAW}}
	case infrav1.HypervisorVMware:
		return hypervisorFacts{dir: "vmware", suffix: "ova", formats: []infrav1.Format{infrav1.FormatOVA}}
	case infrav1.HypervisorXenServer:
		return hypervisorFacts{dir: "xen", suffix: "vhd.bz2", formats: []infrav1.Format{infrav1.FormatVHD}}
	case infrav1.HypervisorSimulator:
		all := []infrav1.Format{infrav1.FormatVHD, infrav1.FormatQCOW2, infrav1.FormatRAW, infrav1.FormatOVA}
		return hypervisorFacts{dir: "simulator", suffix: "vhd.bz2", formats: all}
	}
	return hypervisorFacts{}
}

// FormatFor is the format a hypervisor usually takes; empty for an unknown hypervisor.
func FormatFor(h infrav1.Hypervisor) infrav1.Format {
	if formats := factsOf(h).formats; len(formats) > 0 {
		return formats[0]
	}
	return ""
}

// Takes says whether a hypervisor takes a format.
func Takes(h infrav1.Hypervisor, f infrav1.Format) bool {
	return slices.Contains(factsOf(h).formats, f)
}

// realHypervisors are those a zone may turn out to have when it does not tell.
func realHypervisors() []infrav1.Hypervisor {
	return []infrav1.Hypervisor{infrav1.HypervisorKVM, infrav1.HypervisorVMware, infrav1.HypervisorXenServer}
}
