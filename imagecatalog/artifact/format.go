package artifact

import (
	"fmt"
	"slices"
	"strings"
)

// Format is a disk image format by its CloudStack name.
type Format string

const (
	// QCOW2 is QEMU's copy-on-write format, versions 2 and 3.
	QCOW2 Format = "QCOW2"
	// VHD is Microsoft's virtual hard disk.
	VHD Format = "VHD"
	// VMDK is VMware's virtual disk on its own.
	VMDK Format = "VMDK"
	// OVA is a tar of an OVF descriptor and the disk it names.
	OVA Format = "OVA"
	// RAW is the disk byte for byte.
	RAW Format = "RAW"
)

// Formats lists every known format.
func Formats() []Format { return []Format{QCOW2, VHD, VMDK, OVA, RAW} }

// ParseFormat reads a format in any case; "" gives "" (unknown, to be sniffed).
func ParseFormat(s string) (Format, error) {
	f := Format(strings.ToUpper(strings.TrimSpace(s)))
	if f == "" || slices.Contains(Formats(), f) {
		return f, nil
	}
	return "", fmt.Errorf("format %q is none of QCOW2, VHD, VMDK, OVA, RAW", s)
}

// Suffix is the file name suffix that CloudStack wants for the format, without the dot.
func (f Format) Suffix() string { return strings.ToLower(string(f)) }

// FormatsFor lists the formats that a hypervisor takes, the preferred one first; nil for a hypervisor we do not know.
func FormatsFor(hypervisor string) []Format {
	switch strings.ToLower(hypervisor) {
	case "kvm":
		return []Format{QCOW2, RAW}
	case "vmware":
		return []Format{OVA, VMDK}
	case "xenserver":
		return []Format{VHD}
	case "ovm", "ovm3":
		return []Format{RAW}
	case "simulator":
		return Formats()
	default:
		return nil
	}
}

// Either names what may be chosen, for people.
func Either[T ~string](choices []T) string {
	words := make([]string, len(choices))
	for i, c := range choices {
		words[i] = string(c)
	}
	return strings.Join(words, " or ")
}

// FormatFor is the format a hypervisor prefers; false for a hypervisor we do not know.
func FormatFor(hypervisor string) (Format, bool) {
	all := FormatsFor(hypervisor)
	if len(all) == 0 {
		return "", false
	}
	return all[0], true
}

// FitsHypervisor says whether the hypervisor takes the format. An unknown or empty hypervisor takes every format.
func (f Format) FitsHypervisor(hypervisor string) bool {
	all := FormatsFor(hypervisor)
	return all == nil || slices.Contains(all, f)
}
