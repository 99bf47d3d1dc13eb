package inspect

import (
	"slices"
	"strconv"
	"strings"
)

// cimMaxOS is the last operating system that the CIM schema numbers; 0 means unknown.
const cimMaxOS = 126

// knownCIM says whether the number names an operating system.
func knownCIM(id string) bool {
	n, err := strconv.Atoi(id)
	return err == nil && n >= 1 && n <= cimMaxOS
}

// guestFamilies are the stems of VMware's guest ids, without version, width and the word Guest.
func guestFamilies() []string {
	return []string{
		"almalinux", "amazonlinux", "asianux", "centos", "coreos", "crxpod", "crxsys", "darwin", "debian", "dos", "eComStation",
		"fedora", "fedoracoreos", "flatcar", "freebsd", "kylinlinux", "linuxMint", "mandrake", "mandriva", "mandriva", "miraclelinux", "nld",
		"netware", "oes", "openServer", "opensuse", "oracleLinux", "os", "other", "otherLinux", "otherlinux", "pardus", "photon", "prolinux",
		"redhat", "rhel", "rockylinux", "sjds", "sles", "solaris", "suse", "turboLinux", "ubuntu", "unixWare", "vmkernel",
		"vmwarePhoton", "win", "windows",
	}
}

// knownVMware says whether an id such as ubuntu64Guest, debian12_64Guest or other5xLinux64Guest is one of VMware's: a known
// stem followed by nothing but versions, editions and widths.
func knownVMware(id string) bool {
	stem, isGuest := strings.CutSuffix(id, "Guest")
	if !isGuest && !strings.HasPrefix(id, "otherlinux") {
		return false
	}
	end := strings.IndexFunc(stem, func(r rune) bool { return r >= '0' && r <= '9' || r == '_' || r == '-' })
	if end < 0 {
		end = len(stem)
	}
	rest := stem[end:]
	for _, word := range []string{"xLinux", "Linux", "srv", "Server", "Next", "Base", "server", "Pro", "Home", "Ent", "EntServ", "Adv", "AdvServ", "Serv", "LonghornPro", "Longhorn", "Hyper", "Enterprise", "Datacenter", "Standard", "Web", "Business", "Pod", "Sys", "x", "eap"} {
		rest = strings.ReplaceAll(rest, word, "")
	}
	if strings.Trim(rest, "0123456789_-") != "" {
		return false
	}
	return slices.ContainsFunc(guestFamilies(), func(family string) bool {
		if !strings.HasPrefix(family, "win") {
			return stem[:end] == family
		}
		return strings.HasPrefix(stem[:end], family)
	})
}
