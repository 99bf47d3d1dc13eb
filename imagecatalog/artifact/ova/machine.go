package ova

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// Machine is what the descriptor says about the virtual machine. CloudStack replaces nearly all of it by what its user asks
// for; other importers take it as it is.
type Machine struct {
	// Name of the machine, and the stem of the names of the members. Letters, digits, dots, dashes, underscores and plus
	// signs, at most 80.
	Name string
	// Guest is the operating system.
	Guest Guest
	// CPUs and MemoryMiB are what the machine has at first; 2 and 2048 when 0.
	CPUs, MemoryMiB int
	// EFI says that the disk boots by EFI and not by BIOS.
	EFI bool
}

// Guest is an operating system in the two vocabularies of a descriptor.
type Guest struct {
	// CIM is its number in DMTF's list.
	CIM int
	// VMware is its id, such as ubuntu64Guest.
	VMware string
	// Description is for people.
	Description string
}

// GuestFor finds the guest for the name of an operating system as catalogs have it (ubuntu-24.04, rocky-9). The ids are the
// newest that VMware 6.5 knows, because an unknown one stops an import; any other Linux is "other Linux, 64 bits".
func GuestFor(os string) Guest {
	family, _, _ := strings.Cut(strings.ToLower(os), "-")
	switch family {
	case "ubuntu":
		return Guest{CIM: 94, VMware: "ubuntu64Guest", Description: "Ubuntu 64-Bit"}
	case "debian":
		return Guest{CIM: 96, VMware: "debian10_64Guest", Description: "Debian 64-Bit"}
	case "rocky", "rockylinux", "rhel", "almalinux", "alma":
		return Guest{CIM: 80, VMware: "rhel7_64Guest", Description: "RedHat Enterprise Linux 64-Bit"}
	case "centos":
		return Guest{CIM: 107, VMware: "centos7_64Guest", Description: "CentOS 64-Bit"}
	default:
		return Guest{CIM: 101, VMware: "otherLinux64Guest", Description: "Linux 64-Bit"}
	}
}

var validName = regexp.MustCompile(`^[A-Za-z0-9][-A-Za-z0-9._+]{0,79}$`)

// complete fills in what is not set and checks the rest.
func (m Machine) complete() (Machine, error) {
	if m.CPUs == 0 {
		m.CPUs = 2
	}
	if m.MemoryMiB == 0 {
		m.MemoryMiB = 2048
	}
	if m.Guest == (Guest{}) {
		m.Guest = GuestFor("")
	}
	switch {
	case !validName.MatchString(m.Name):
		return m, fmt.Errorf("%q cannot be the name of an appliance: letters, digits and . - _ + are allowed, at most 80", m.Name)
	case m.CPUs < 0 || m.MemoryMiB < 0:
		return m, errors.New("a machine with less than no processors or memory")
	case m.Guest.CIM < 1 || m.Guest.VMware == "":
		return m, errors.New("the guest needs a number and an id")
	}
	return m, nil
}
