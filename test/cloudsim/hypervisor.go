package cloudsim

import "strings"

// configuredHypervisors are what listHypervisors shows without a zone, whether hosts exist or not.
func configuredHypervisors() []string {
	return []string{"KVM", "VMware", "XenServer", "Hyperv", "BareMetal", "Ovm", "LXC", "Ovm3", "External"}
}

// knownHypervisors are all that a template may name, as a refusal lists them.
func knownHypervisors() []string {
	return []string{"XenServer", "KVM", "VMware", "Hyperv", "VirtualBox", "Parralels", "BareMetal", "Simulator", "Ovm", "Ovm3", "LXC", "Custom", "External", "Any"}
}

// hypervisorNamed returns the server's spelling of a hypervisor, "" for an unknown one.
func hypervisorNamed(name string) string {
	for _, h := range knownHypervisors() {
		if strings.EqualFold(h, name) {
			return h
		}
	}
	return ""
}

func listHypervisors(c *call) (object, error) {
	names := configuredHypervisors()
	if z, ok := refer(c, c.zones, "zoneid"); ok {
		names = nil
		if z != nil {
			names = c.hypervisorsOf(z)
		}
	}
	return whole("hypervisor", names, func(name string) object { return obj("name", name) })
}

// hypervisorsOf lists the hypervisors of the hosts in a zone.
func (s *Server) hypervisorsOf(z *zone) []string {
	var out []string
	for _, h := range s.hosts.rows {
		if h.live() && h.zone == z && !contains(out, h.hypervisor) {
			out = append(out, h.hypervisor)
		}
	}
	return out
}
