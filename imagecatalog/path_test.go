package imagecatalog_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/imagecatalog"
)

func TestPath(t *testing.T) {
	type pools = []imagecatalog.Pool
	// inZones makes an image of each version in each of the zones.
	inZones := func(zones string, versions ...infrav1.KubernetesVersion) []infrav1.CloudStackImage {
		var out []infrav1.CloudStackImage
		for zone := range strings.SplitSeq(zones, " ") {
			for _, v := range versions {
				out = append(out, held("node-"+string(v)+"-"+zone, zone, v))
			}
		}
		return out
	}
	both := pools{pool("control plane", site("zone-a"), site("zone-b"))}
	for name, c := range map[string]struct {
		images   []infrav1.CloudStackImage
		pools    pools
		from, to string
		want     []string
		err      []string // parts of the error
		lacks    int
	}{
		"already there":  {pools: both, from: "v1.33.1", to: "1.33.1"},
		"another patch":  {pools: both, from: "v1.33.1", to: "v1.33.4", want: []string{"v1.33.4"}},
		"the next minor": {pools: both, from: "v1.33.1", to: "v1.34.0", want: []string{"v1.34.0"}},
		"another build":  {pools: both, from: "v1.33.1+k3s1", to: "v1.33.1+k3s2", want: []string{"v1.33.1+k3s2"}},
		"over two minors": {
			images: inZones("zone-a zone-b", "v1.31.7", "v1.32.3", "v1.32.10", "v1.32.9", "v1.33.1"), pools: both,
			from: "v1.31.7", to: "v1.33.1", want: []string{"v1.32.10", "v1.33.1"},
		},
		"over four minors": {
			images: inZones("zone-a zone-b", "v1.30.1", "v1.31.2", "v1.32.3", "v1.33.4", "v1.34.5", "v1.35.0"), pools: both,
			from: "v1.30.1", to: "v1.34.5", want: []string{"v1.31.2", "v1.32.3", "v1.33.4", "v1.34.5"},
		},
		"the newest that is ready everywhere": {
			images: append(inZones("zone-a zone-b", "v1.32.3"), inZones("zone-a", "v1.32.9")...), pools: both,
			from: "v1.31.7", to: "v1.33.1", want: []string{"v1.32.3", "v1.33.1"},
		},
		"a zone that is not used does not count": {
			images: inZones("zone-a", "v1.32.9"), pools: pools{pool("control plane", site("zone-a"))},
			from: "v1.31.7", to: "v1.33.1", want: []string{"v1.32.9", "v1.33.1"},
		},
		"no pre-release between": {
			images: inZones("zone-a zone-b", "v1.32.3", "v1.32.9-rc.1"), pools: both,
			from: "v1.31.7", to: "v1.33.0-rc.1", want: []string{"v1.32.3", "v1.33.0-rc.1"},
		},
		"builds between builds": {
			images: inZones("zone-a zone-b", "v1.32.4", "v1.32.3+k3s9", "v1.32.3+k3s10"), pools: both,
			from: "v1.31.7+k3s1", to: "v1.33.1+k3s1", want: []string{"v1.32.3+k3s10", "v1.33.1+k3s1"},
		},
		"no build between versions without": {
			images: inZones("zone-a zone-b", "v1.32.3", "v1.32.4+cap1"), pools: both,
			from: "v1.31.7", to: "v1.33.1", want: []string{"v1.32.4", "v1.33.1"},
		},
		"nothing ready between": {
			images: inZones("zone-a", "v1.32.3", "v1.32.9"), pools: both, from: "v1.31.7", to: "v1.33.1", lacks: 1,
			err: []string{"from v1.31.7 to v1.33.1", "no ready image of v1.32.9 in zone-b (control plane)"},
		},
		"nothing at all between": {
			images: inZones("zone-a zone-b", "v1.31.7", "v1.34.1"), pools: both, from: "v1.31.7", to: "v1.34.1",
			err: []string{"there is no image of v1.32", "there is no image of v1.33"},
		},
		"a slip of the pen": {
			images: inZones("zone-a zone-b", "v1.31.7"), pools: both, from: "v1.31.7", to: "v1.18446744073709551615.0",
			err: []string{"there is no image of v1.32", "there is no image of v1.39; and more up to v1.18446744073709551614"},
		},
		"nothing tells the versions between": {from: "v1.31.7", to: "v1.33.1", err: []string{"one minor version at a time"}},
		"without images the next minor":      {from: "v1.32.7", to: "v1.33.1", want: []string{"v1.33.1"}},
		"backwards":                          {pools: both, from: "v1.33.1", to: "v1.32.9", err: []string{"taken back"}},
		"another major version":              {pools: both, from: "v1.33.1", to: "v2.0.0", err: []string{"major"}},
	} {
		t.Run(name, func(t *testing.T) {
			path, err := imagecatalog.NewStock(c.images, now).Path(c.pools, version(t, c.from), version(t, c.to))
			if (err != nil) != (len(c.err) > 0) {
				t.Fatalf("got %v and %v", path, err)
			}
			for _, part := range c.err {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q does not contain %q", err, part)
				}
			}
			var failure *imagecatalog.PathError
			if errors.As(err, &failure) && len(failure.Lacks) != c.lacks {
				t.Errorf("%d lacks, want %d: %+v", len(failure.Lacks), c.lacks, failure.Lacks)
			}
			var got []string
			for _, v := range path {
				got = append(got, v.String())
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestHolds(t *testing.T) {
	for name, c := range map[string]struct {
		there, asked string
		want         bool
	}{
		"the same":                           {"v1.33.1", "1.33.1", true},
		"another patch":                      {"v1.33.10", "v1.33.1", false},
		"any build":                          {"v1.33.1+k3s1", "v1.33.1", true},
		"another build":                      {"v1.33.1+k3s1", "v1.33.1+k3s2", false},
		"a build that is not there":          {"v1.33.1", "v1.33.1+k3s1", false},
		"a pre-release is no release":        {"v1.33.0-rc.1", "v1.33.0", false},
		"a pre-release with any build of it": {"v1.33.0-rc.1+b", "v1.33.0-rc.1", true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := version(t, c.there).Holds(version(t, c.asked)); got != c.want {
				t.Errorf("got %v", got)
			}
		})
	}
}
