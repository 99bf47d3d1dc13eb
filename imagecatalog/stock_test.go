package imagecatalog_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/imagecatalog"
)

// held is an image that is ready in a zone, changed by the options.
func held(name, zone string, version infrav1.KubernetesVersion, options ...func(*infrav1.CloudStackImage)) infrav1.CloudStackImage {
	img := infrav1.CloudStackImage{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: infrav1.CloudStackImageSpec{
			Zone: infrav1.ZoneReference{Name: zone}, KubernetesVersion: version, OS: "ubuntu-24.04", Hypervisor: infrav1.HypervisorKVM,
		},
		Status: infrav1.CloudStackImageStatus{
			TemplateID: "template-of-" + name, ZoneID: "id-of-" + zone, ContentDigest: "sha256:" + string(version),
			Conditions: []metav1.Condition{{Type: infrav1.ConditionReady, Status: metav1.ConditionTrue, Reason: infrav1.ReasonReady}},
		},
	}
	for _, option := range options {
		option(&img)
	}
	return img
}

// coming makes an image one that is on its way: not even its zone is known by id.
func coming(img *infrav1.CloudStackImage) {
	img.Status = infrav1.CloudStackImageStatus{}
}

func site(zone string, hypervisors ...string) imagecatalog.Site {
	return imagecatalog.Site{ZoneID: "id-of-" + zone, ZoneName: zone, Hypervisors: hypervisors}
}

func pool(name string, sites ...imagecatalog.Site) imagecatalog.Pool {
	return imagecatalog.Pool{Name: name, Sites: sites}
}

func wanting(p imagecatalog.Pool, wants imagecatalog.Request) imagecatalog.Pool {
	p.Wants = wants
	return p
}

func bound(name string, template infrav1.ResourceIdentifier, sites ...imagecatalog.Site) imagecatalog.Pool {
	return imagecatalog.Pool{Name: name, Template: &template, Sites: sites}
}

func TestLacking(t *testing.T) {
	type images = []infrav1.CloudStackImage
	type pools = []imagecatalog.Pool
	both := pools{pool("control plane", site("zone-a"), site("zone-b")), pool("md-0", site("zone-b"))}
	everywhere := images{held("a", "zone-a", "v1.33.1"), held("b", "zone-b", "v1.33.1")}
	for name, c := range map[string]struct {
		reason   string
		images   images
		pools    pools
		versions []string
		want     string // the short text
		why      []string
		coming   bool // of the first
	}{
		"ready everywhere": {images: everywhere, pools: both, versions: []string{"v1.33.1"}},
		"in one zone only": {
			images: everywhere[:1], pools: both, versions: []string{"1.33.1"},
			want: "no ready image of v1.33.1 in zone-b (control plane, md-0)",
			why:  []string{"version v1.33.1 is known, but not in zone zone-b: it is in zone-a"},
		},
		"nowhere": {
			images: everywhere, pools: both, versions: []string{"v1.33.2"},
			want: "no ready image of v1.33.2 in zone-a (control plane), zone-b (control plane, md-0)",
			why:  []string{"version v1.33.2 is unknown; of this minor version there is v1.33.1"},
		},
		"on its way": {
			images: images{held("a", "zone-a", "v1.33.1"), held("b", "zone-b", "v1.33.1", coming)}, pools: both[1:], versions: []string{"v1.33.1"},
			want: "no ready image of v1.33.1 in zone-b (md-0)", why: []string{"the image b is not ready yet"}, coming: true,
		},
		"a zone of no pool does not count": {
			images: everywhere[1:], pools: both[1:], versions: []string{"v1.33.1"},
		},
		"no pool lacks nothing": {images: everywhere, versions: []string{"v1.40.0"}},
		"another operating system": {
			images: everywhere, versions: []string{"v1.33.1"},
			pools: pools{wanting(pool("md-0", site("zone-a")), imagecatalog.Request{OS: "rocky-9"})},
			want:  "no ready image of v1.33.1 in zone-a (md-0)", why: []string{"not for the operating system rocky-9"},
		},
		"another hypervisor": {
			images: everywhere, versions: []string{"v1.33.1"}, pools: pools{pool("md-0", site("zone-a", "VMware"))},
			want: "no ready image of v1.33.1 in zone-a (md-0)", why: []string{"the catalog is empty"},
		},
		"one of several hypervisors, spelt otherwise": {
			images: everywhere, versions: []string{"v1.33.1"}, pools: pools{pool("md-0", site("zone-a", "VMware", "kvm"))},
		},
		"any architecture is x86_64": {
			images:   images{held("a", "zone-a", "v1.33.1", func(i *infrav1.CloudStackImage) { i.Spec.Arch = infrav1.ArchAArch64 })},
			versions: []string{"v1.33.1"}, pools: pools{pool("md-0", site("zone-a"))},
			want: "no ready image of v1.33.1 in zone-a (md-0)", why: []string{"not for the architecture x86_64"},
		},
		"expired": {
			images: images{held("a", "zone-a", "v1.33.1", func(i *infrav1.CloudStackImage) {
				i.Spec.ExpirationDate = &metav1.Time{Time: now.Add(-time.Hour)}
			})},
			versions: []string{"v1.33.1"}, pools: pools{pool("md-0", site("zone-a"))},
			want: "no ready image of v1.33.1 in zone-a (md-0)", why: []string{"expired"},
		},
		"ambiguous is as good as none": {
			reason: "a machine would wait for a person",
			images: images{held("a", "zone-a", "v1.33.1+k3s1"), held("b", "zone-a", "v1.33.1+k3s2")},
			pools:  pools{pool("md-0", site("zone-a"))}, versions: []string{"v1.33.1"},
			want: "no ready image of v1.33.1 in zone-a (md-0)", why: []string{"several builds (v1.33.1+k3s1, v1.33.1+k3s2)"},
		},
		"a policy decides": {
			images: images{held("a", "zone-a", "v1.33.1+k3s1"), held("b", "zone-a", "v1.33.1+k3s2")}, versions: []string{"v1.33.1"},
			pools: pools{wanting(pool("md-0", site("zone-a")), imagecatalog.Request{Builds: imagecatalog.BuildsNewest})},
		},
		"another build is no answer": {
			images: images{held("a", "zone-a", "v1.33.1+k3s1")}, versions: []string{"v1.33.1+k3s2"},
			pools: pools{pool("md-0", site("zone-a"))},
			want:  "no ready image of v1.33.1+k3s2 in zone-a (md-0)", why: []string{"not there with this build; there is v1.33.1+k3s1"},
		},
		"a fixed template of another version": {
			images: images{held("a", "zone-a", "v1.32.3")}, versions: []string{"v1.33.1"},
			pools: pools{bound("md-0", infrav1.ResourceIdentifier{ID: "template-of-a"}, site("zone-a"), site("zone-b"))},
			want:  "no ready image of v1.33.1 in zone-a (md-0)", why: []string{"the template template-of-a is fixed and holds v1.32.3"},
		},
		"a fixed template of that version, by name": {
			images: images{held("a", "zone-a", "v1.33.1", func(i *infrav1.CloudStackImage) { i.Status.TemplateName = "node" })}, versions: []string{"v1.33.1"},
			pools: pools{bound("md-0", infrav1.ResourceIdentifier{Name: "node"}, site("zone-a"))},
		},
		"a fixed template that nobody knows": {
			images: everywhere, versions: []string{"v1.40.0"},
			pools: pools{bound("md-0", infrav1.ResourceIdentifier{Name: "node"}, site("zone-a"))},
		},
		"several versions, in order and once": {
			images: everywhere, pools: pools{pool("md-0", site("zone-a"))}, versions: []string{"v1.34.0", "v1.33.1", "v1.33.9", "v1.34.0"},
			want: "no ready image of v1.33.9 in zone-a (md-0) and of v1.34.0 in zone-a (md-0)",
			why:  []string{"version v1.33.9 is unknown", "version v1.34.0 is unknown"},
		},
		"zones of one name on two servers": {
			images:   images{held("a", "zone-a", "v1.33.1")},
			versions: []string{"v1.33.1"}, pools: pools{pool("md-0", imagecatalog.Site{ZoneID: "other", ZoneName: "zone-a"})},
			want: "no ready image of v1.33.1 in zone-a (md-0)",
		},
	} {
		t.Run(name, func(t *testing.T) {
			versions := make([]imagecatalog.Version, 0, len(c.versions))
			for _, text := range c.versions {
				versions = append(versions, version(t, text))
			}
			got := imagecatalog.NewStock(c.images, now).Lacking(c.pools, versions...)
			if diff := cmp.Diff(c.want, imagecatalog.ShortLacks(got)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
			text := imagecatalog.DescribeLacks(got)
			for _, why := range c.why {
				if !strings.Contains(text, why) {
					t.Errorf("%q does not contain %q", text, why)
				}
			}
			if strings.Contains(text, "id-of-") {
				t.Errorf("%q calls a zone by its id", text)
			}
			if len(got) > 0 && got[0].Coming != c.coming {
				t.Errorf("coming is %v", got[0].Coming)
			}
		})
	}
}

func TestOffered(t *testing.T) {
	of := func(catalog string) func(*infrav1.CloudStackImage) {
		return func(i *infrav1.CloudStackImage) { i.Labels = map[string]string{infrav1.LabelCatalog: catalog} }
	}
	gone := func(i *infrav1.CloudStackImage) { i.DeletionTimestamp = &metav1.Time{Time: now} }
	all := []infrav1.CloudStackImage{
		held("one", "zone-a", "v1.33.1", of("first")), held("two", "zone-a", "v1.33.1", of("second")), held("own", "zone-a", "v1.33.1"),
		held("gone", "zone-a", "v1.33.1", of("first"), gone),
	}
	for name, c := range map[string]struct {
		catalogs []infrav1.CatalogReference
		want     []string
	}{
		"no catalog is named": {want: []string{"one", "two", "own"}},
		"one is named":        {catalogs: []infrav1.CatalogReference{{Name: "second"}}, want: []string{"two"}},
		"none of that name":   {catalogs: []infrav1.CatalogReference{{Name: "third"}}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, img := range imagecatalog.Offered(all, c.catalogs) {
				got = append(got, img.Name)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
