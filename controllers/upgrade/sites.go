package upgrade

import (
	"slices"
	"strings"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/imagecatalog"
)

// sitesOf are the zones that the next machine may be placed in: that of the failure domain it is bound to, or those of all
// that take it. Machines are spread, so the next one may come to any.
func sitesOf(infra *infrav1.CloudStackCluster, domain string, controlPlane bool) []imagecatalog.Site {
	var sites []imagecatalog.Site
	for _, d := range domainsOf(infra) {
		if domain != "" && d.Name != domain || domain == "" && controlPlane && !infra.TakesControlPlane(&d) {
			continue
		}
		site := imagecatalog.Site{ZoneID: d.Zone.ID, ZoneName: d.Zone.Name}
		if d.Hypervisor != "" {
			site.Hypervisors = []string{string(d.Hypervisor)}
		}
		if known := infra.Status.Domain(d.Name); known != nil {
			site = imagecatalog.Site{ZoneID: known.ZoneID, ZoneName: known.ZoneName, Hypervisors: known.Hypervisors}
		}
		if !slices.ContainsFunc(sites, func(s imagecatalog.Site) bool { return same(s, site) }) {
			sites = append(sites, site)
		}
	}
	slices.SortStableFunc(sites, func(a, b imagecatalog.Site) int { return strings.Compare(a.Name(), b.Name()) })
	return sites
}

func same(a, b imagecatalog.Site) bool {
	return a.ZoneID == b.ZoneID && a.ZoneName == b.ZoneName && slices.Equal(a.Hypervisors, b.Hypervisors)
}

// domainsOf are the failure domains of the spec; with the short form what was resolved of it, or the zone that it names.
func domainsOf(infra *infrav1.CloudStackCluster) []infrav1.FailureDomainSpec {
	if len(infra.Spec.FailureDomains) > 0 {
		return infra.Spec.FailureDomains
	}
	var domains []infrav1.FailureDomainSpec
	for i := range infra.Status.Resolved {
		domains = append(domains, infrav1.FailureDomainSpec{Name: infra.Status.Resolved[i].Name})
	}
	if z := infra.Spec.Zone; len(domains) == 0 && z != nil {
		domains = append(domains, infrav1.FailureDomainSpec{Name: imagecatalog.Site{ZoneID: z.ID, ZoneName: z.Name}.Name(), Zone: infrav1.FailureDomainZone{ID: z.ID, Name: z.Name}})
	}
	return domains
}
