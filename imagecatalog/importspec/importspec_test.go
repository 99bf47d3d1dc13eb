package importspec_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/imagecatalog/artifact"
	"github.com/capcat/capcat/imagecatalog/importer"
	"github.com/capcat/capcat/imagecatalog/importspec"
)

func TestOf(t *testing.T) {
	gib := resource.MustParse("1Gi")
	urls := []infrav1.SourceURL{"http://a/i", "http://b/i"}
	tests := map[string]struct {
		source     infrav1.ImageSource
		hypervisor infrav1.Hypervisor
		limits     infrav1.ImportLimits
		want       importer.Spec
	}{
		"a digest": {
			source: infrav1.ImageSource{Checksum: infrav1.Checksum{Algorithm: "sha512", Value: "00"}},
			want:   importer.Spec{Checksum: importer.Checksum{Digest: &artifact.Digest{Algorithm: artifact.SHA512, Hex: "00"}}},
		},
		"a checksum file": {
			source: infrav1.ImageSource{Checksum: infrav1.Checksum{URL: "http://a/s", AllowWeak: true}},
			want:   importer.Spec{Checksum: importer.Checksum{URL: "http://a/s", AllowWeak: true}},
		},
		"one algorithm of a checksum file": {
			source: infrav1.ImageSource{Checksum: infrav1.Checksum{URL: "http://a/s", Algorithm: "sha256"}},
			want:   importer.Spec{Checksum: importer.Checksum{URL: "http://a/s", Algorithm: artifact.SHA256}},
		},
		"nothing vouches": {
			source: infrav1.ImageSource{Checksum: infrav1.Checksum{InsecureSkip: true}},
			want:   importer.Spec{Checksum: importer.Checksum{InsecureSkip: true}},
		},
		"the preferred format": {hypervisor: infrav1.HypervisorVMware, want: importer.Spec{Format: artifact.OVA, Hypervisor: "VMware"}},
		"the given format": {
			source: infrav1.ImageSource{Format: infrav1.FormatRAW}, hypervisor: infrav1.HypervisorKVM,
			want: importer.Spec{Format: artifact.RAW, Hypervisor: "KVM"},
		},
		"the simulator takes any": {hypervisor: infrav1.HypervisorSimulator, want: importer.Spec{Hypervisor: "Simulator"}},
		"limits": {
			limits: infrav1.ImportLimits{MaxDownload: &gib, MaxVirtualSize: &gib},
			want:   importer.Spec{Limits: artifact.Limits{MaxDownloadBytes: 1 << 30, MaxVirtualSizeBytes: 1 << 30}},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			tc.source.URLs, tc.want.URLs = urls, []string{"http://a/i", "http://b/i"}
			if diff := cmp.Diff(tc.want, importspec.Of(tc.source, tc.hypervisor, tc.limits)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
