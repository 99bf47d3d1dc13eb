package builder

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
)

// Defaults of what is made here.
const (
	// Secret is the name of the identity.
	Secret = "cloudstack"
	// ImageName is the name of the only image of a catalog.
	ImageName = "node"
	// Version is its only version.
	Version = "v1.33.1"
)

// CatalogOption changes one thing of a catalog.
type CatalogOption func(*infrav1.TemplateCatalog)

// Catalog wants one version of one image, by a pattern, in the zone zone-kvm.
func Catalog(namespace, name string, options ...CatalogOption) *infrav1.TemplateCatalog {
	c := &infrav1.TemplateCatalog{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: infrav1.TemplateCatalogSpec{
			IdentityRef: infrav1.IdentityReference{Name: Secret},
			Zones:       []infrav1.CatalogZone{{ZoneReference: infrav1.ZoneReference{Name: "zone-kvm"}}},
			Images: []infrav1.CatalogImage{{
				Name: ImageName, OS: "ubuntu-24.04", KubernetesVersions: []infrav1.KubernetesVersion{Version},
				URL:      "http://images.example.org/{{.HypervisorDir}}/node-{{.Version}}.{{.Suffix}}",
				Checksum: &infrav1.Checksum{URL: "{{.URL}}.sha256"},
			}},
		},
	}
	for _, change := range options {
		change(c)
	}
	return c
}

// InZones wants the images in these zones, by name.
func InZones(names ...string) CatalogOption {
	return func(c *infrav1.TemplateCatalog) {
		c.Spec.Zones = nil
		for _, name := range names {
			c.Spec.Zones = append(c.Spec.Zones, infrav1.CatalogZone{ZoneReference: infrav1.ZoneReference{Name: name}})
		}
	}
}

// OfVersions wants these versions of the image.
func OfVersions(versions ...infrav1.KubernetesVersion) CatalogOption {
	return func(c *infrav1.TemplateCatalog) { c.Spec.Images[0].KubernetesVersions = versions }
}

// DeliveredBy sets the mode of delivery.
func DeliveredBy(mode infrav1.DeliveryMode) CatalogOption {
	return func(c *infrav1.TemplateCatalog) { c.Spec.Delivery.Mode = mode }
}

// Deleting deletes the templates of images that are wanted no more.
func Deleting() CatalogOption {
	return func(c *infrav1.TemplateCatalog) { c.Spec.Retention.DeletePolicy = infrav1.DeletePolicyDelete }
}

// Pinned replaces the pattern by one artifact for KVM, proven by the checksum file beside it.
func Pinned(url string) CatalogOption {
	return func(c *infrav1.TemplateCatalog) {
		img := &c.Spec.Images[0]
		img.URL, img.Checksum, img.KubernetesVersions = "", nil, nil
		img.Artifacts = []infrav1.CatalogArtifact{{
			KubernetesVersion: Version, Hypervisor: infrav1.HypervisorKVM,
			ImageSource: infrav1.ImageSource{URLs: []infrav1.SourceURL{infrav1.SourceURL(url)}, Checksum: infrav1.Checksum{URL: url + ".sha256"}},
		}}
	}
}
