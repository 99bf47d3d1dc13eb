package importspec

import (
	"k8s.io/apimachinery/pkg/api/resource"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/imagecatalog/artifact"
	"github.com/capcat/capcat/imagecatalog/importer"
)

// Of is the work that a source means for a hypervisor, within limits. A source without a format has the one that the
// hypervisor prefers; any, if the hypervisor is unknown or takes all. Whether the checksum can be meant the import says.
func Of(source infrav1.ImageSource, hypervisor infrav1.Hypervisor, limits infrav1.ImportLimits) importer.Spec {
	spec := importer.Spec{
		Format:     artifact.Format(source.Format),
		Hypervisor: string(hypervisor),
		Limits: artifact.Limits{
			MaxDownloadBytes:    bytesOf(limits.MaxDownload),
			MaxOutputBytes:      bytesOf(limits.MaxOutput),
			MaxVirtualSizeBytes: bytesOf(limits.MaxVirtualSize),
		},
		Checksum: checksumOf(source.Checksum),
	}
	for _, u := range source.URLs {
		spec.URLs = append(spec.URLs, string(u))
	}
	if preferred, known := artifact.FormatFor(spec.Hypervisor); spec.Format == "" && known && hypervisor != infrav1.HypervisorSimulator {
		spec.Format = preferred
	}
	return spec
}

// checksumOf reads the algorithm as that of the value, or as the one to take from a checksum file.
func checksumOf(c infrav1.Checksum) importer.Checksum {
	sum := importer.Checksum{URL: c.URL, AllowWeak: c.AllowWeak, InsecureSkip: c.InsecureSkip}
	if c.Value != "" {
		sum.Digest = &artifact.Digest{Algorithm: artifact.Algorithm(c.Algorithm), Hex: c.Value}
	} else {
		sum.Algorithm = artifact.Algorithm(c.Algorithm)
	}
	return sum
}

// bytesOf is 0, the default, for a limit that is not set.
func bytesOf(q *resource.Quantity) int64 {
	if q == nil {
		return 0
	}
	return q.Value()
}
