package imagecatalog

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
)

// Pool is the machines of a cluster that are made alike: its control plane, or those of a MachineDeployment.
type Pool struct {
	// Name of the pool, for people.
	Name string
	// Wants selects among the images of a version: its OS, Arch, Image and Builds.
	Wants Request
	// Template is what the machines are made of when no image is looked up; nil otherwise.
	Template *infrav1.ResourceIdentifier
	// Sites that the next machine of the pool may be placed in.
	Sites []Site
}

// Stock answers what can be made of a set of images at one time. It is for one goroutine.
type Stock struct {
	images []infrav1.CloudStackImage
	now    time.Time
	shelf  map[string]shelf
}

// shelf is what a site has.
type shelf struct{ ready, all []Candidate }

// NewStock takes the images that a cluster is offered, as they are now.
func NewStock(images []infrav1.CloudStackImage, now time.Time) *Stock {
	return &Stock{images: images, now: now, shelf: map[string]shelf{}}
}

func (s *Stock) at(site Site) shelf {
	if known, ok := s.shelf[site.key()]; ok {
		return known
	}
	var found shelf
	for i := range s.images {
		c, suits := CandidateAt(&s.images[i], site)
		if !suits {
			continue
		}
		found.all = append(found.all, c)
		if Deployable(&s.images[i]) {
			found.ready = append(found.ready, c)
		}
	}
	s.shelf[site.key()] = found
	return found
}

// Lack is a zone in which no machine of a pool could be made with a version.
type Lack struct {
	// Version that is lacking.
	Version Version
	// Zone by name, and its id.
	Zone, ZoneID string
	// Pool by name.
	Pool string
	// Coming tells that an image is there and only not ready yet.
	Coming bool
	// Why in words that change only when the images do.
	Why string
}

// Lacking gives the zones in which a machine of a pool, made now with one of the versions, would have to wait: no image fits,
// or it is not ready, or several fit equally well, or the template is known to hold another version.
func (s *Stock) Lacking(pools []Pool, versions ...Version) []Lack {
	var lacks []Lack
	for _, v := range slices.CompactFunc(slices.SortedFunc(slices.Values(versions), Version.Compare), Version.Equal) {
		for _, p := range pools {
			for _, site := range p.Sites {
				if lack, lacking := s.lackAt(p, site, v); lacking {
					lacks = append(lacks, lack)
				}
			}
		}
	}
	return lacks
}

func (s *Stock) lackAt(p Pool, site Site, v Version) (Lack, bool) {
	if p.Template != nil {
		return s.unlikeTemplate(p, site, v)
	}
	q := p.Wants
	q.Version, q.Zone, q.ZoneName, q.Now, q.Hypervisor = v, cmp.Or(site.ZoneID, site.ZoneName), site.ZoneName, s.now, ""
	if q.Arch == "" {
		q.Arch = infrav1.ArchX8664
	}
	have := s.at(site)
	_, err := Resolve(have.ready, q)
	if err == nil {
		return Lack{}, false
	}
	lack := Lack{Version: v, Zone: site.Name(), ZoneID: site.ZoneID, Pool: p.Name}
	var several *AmbiguousError
	if errors.As(err, &several) {
		lack.Why = several.Message
		return lack, true
	}
	coming, err := Resolve(have.all, q)
	var missing *NotFoundError
	switch {
	case err == nil:
		lack.Coming, lack.Why = true, fmt.Sprintf("the image %s is not ready yet", coming.Candidate.ID)
	case errors.As(err, &missing):
		lack.Why = missing.Message
	default:
		lack.Coming, lack.Why = true, fmt.Sprintf("several images of %s are on their way", v)
	}
	return lack, true
}

// unlikeTemplate compares with what the images tell of the template that a pool is bound to. What they do not know may hold
// any version.
func (s *Stock) unlikeTemplate(p Pool, site Site, v Version) (Lack, bool) {
	var held []Version
	for i := range s.images {
		st := &s.images[i].Status
		named := p.Template.ID != "" && st.TemplateID == p.Template.ID || p.Template.ID == "" && st.TemplateName == p.Template.Name
		version, err := ParseVersion(string(s.images[i].Spec.KubernetesVersion))
		if !named || st.TemplateID == "" || st.ZoneID != site.ZoneID || err != nil {
			continue
		}
		if version.Holds(v) {
			return Lack{}, false
		}
		held = append(held, version)
	}
	if len(held) == 0 {
		return Lack{}, false
	}
	name := cmp.Or(p.Template.Name, p.Template.ID)
	return Lack{Version: v, Zone: site.Name(), ZoneID: site.ZoneID, Pool: p.Name, Why: fmt.Sprintf("the template %s is fixed and holds %s", name, joinVersions(held))}, true
}

// DescribeLacks tells in one line which versions lack in which zones, for which pools and why; empty when nothing lacks. The
// same lacks give the same text.
func DescribeLacks(lacks []Lack) string {
	if len(lacks) == 0 {
		return ""
	}
	var whys []string
	for _, l := range lacks {
		if !slices.Contains(whys, l.Why) {
			whys = append(whys, l.Why)
		}
	}
	return ShortLacks(lacks) + ": " + strings.Join(capped(whys), "; ")
}

// ShortLacks is DescribeLacks without the causes.
func ShortLacks(lacks []Lack) string {
	var versions []string
	zones, pools := map[string][]string{}, map[string][]string{}
	for _, l := range lacks {
		v := l.Version.String()
		zone := v + "\x00" + l.Zone
		if !slices.Contains(versions, v) {
			versions = append(versions, v)
		}
		if !slices.Contains(zones[v], l.Zone) {
			zones[v] = append(zones[v], l.Zone)
		}
		if !slices.Contains(pools[zone], l.Pool) {
			pools[zone] = append(pools[zone], l.Pool)
		}
	}
	parts := make([]string, 0, len(versions))
	for _, v := range versions {
		var in []string
		for _, z := range slices.Sorted(slices.Values(zones[v])) {
			in = append(in, fmt.Sprintf("%s (%s)", z, strings.Join(capped(pools[v+"\x00"+z]), ", ")))
		}
		parts = append(parts, "of "+v+" in "+strings.Join(capped(in), ", "))
	}
	if len(parts) == 0 {
		return ""
	}
	return "no ready image " + strings.Join(parts, " and ")
}

// capped bounds a list that goes into a text.
func capped(texts []string) []string {
	if rest := len(texts) - maxNear; rest > 0 {
		return append(slices.Clone(texts[:maxNear]), fmt.Sprintf("%d more", rest))
	}
	return texts
}
