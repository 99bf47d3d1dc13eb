package v1beta2_test

import (
	"strings"
	"testing"
)

const imageText = `
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: CloudStackImage
metadata: {name: one-off, namespace: default}
spec:
  identityRef: {name: cloudstack}
  zone: {name: zone-a}
  hypervisor: KVM
  kubernetesVersion: v1.32.3
  os: ubuntu-24.04
  source: {urls: ["https://a.example.org/u.qcow2"], checksum: {insecureSkip: true}}
  template: {osType: Ubuntu}
`

func TestCloudStackImageAdmission(t *testing.T) {
	tests := map[string]struct {
		from, to string // one replacement in imageText
		want     string
	}{
		"a one-off image":                 {},
		"hypervisor left to the zone":     {from: "  hypervisor: KVM\n", to: ""},
		"adopted by id":                   {from: "source: {urls: [\"https://a.example.org/u.qcow2\"], checksum: {insecureSkip: true}}", to: "existingTemplate: {id: 1b9d}"},
		"adopted by name":                 {from: "source: {urls: [\"https://a.example.org/u.qcow2\"], checksum: {insecureSkip: true}}", to: "existingTemplate: {name: mine}"},
		"adopted by name and id":          {from: "source: {urls: [\"https://a.example.org/u.qcow2\"], checksum: {insecureSkip: true}}", to: "existingTemplate: {name: mine, id: x}", want: "either the name or the id of the template"},
		"adopted and imported":            {from: "template:", to: "existingTemplate: {id: x}\n  template:", want: "either source"},
		"neither adopted nor imported":    {from: "source: {urls: [\"https://a.example.org/u.qcow2\"], checksum: {insecureSkip: true}}", to: "suspend: false", want: "either source"},
		"QCOW2 on KVM":                    {from: "source: {", to: "source: {format: QCOW2, "},
		"RAW on KVM":                      {from: "source: {", to: "source: {format: RAW, "},
		"OVA on KVM":                      {from: "source: {", to: "source: {format: OVA, ", want: "does not suit the hypervisor"},
		"QCOW2 on VMware":                 {from: "hypervisor: KVM\n  kubernetesVersion: v1.32.3\n  os: ubuntu-24.04\n  source: {", to: "hypervisor: VMware\n  kubernetesVersion: v1.32.3\n  os: ubuntu-24.04\n  source: {format: QCOW2, ", want: "does not suit the hypervisor"},
		"anything on the simulator":       {from: "hypervisor: KVM\n  kubernetesVersion: v1.32.3\n  os: ubuntu-24.04\n  source: {", to: "hypervisor: Simulator\n  kubernetesVersion: v1.32.3\n  os: ubuntu-24.04\n  source: {format: QCOW2, "},
		"format for an unknown host":      {from: "  hypervisor: KVM\n  kubernetesVersion: v1.32.3\n  os: ubuntu-24.04\n  source: {", to: "  kubernetesVersion: v1.32.3\n  os: ubuntu-24.04\n  source: {format: OVA, "},
		"reserved detail":                 {from: "{osType: Ubuntu}", to: "{details: {capcat.content-digest: x}}", want: "reserved"},
		"zone by name and id":             {from: "zone: {name: zone-a}", to: "zone: {name: zone-a, id: x}", want: "either the name or the id of the zone"},
		"owner by halves":                 {from: "  zone:", to: "  owner: {domain: ROOT}\n  zone:", want: "domain and account together"},
		"version is a package's revision": {from: "v1.32.3", to: "1.29.6-1.1", want: "package revision"},
	}
	a := newAdmission(t, "cloudstackimages")
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			object := imageText
			if tc.from != "" {
				object = strings.Replace(imageText, tc.from, tc.to, 1)
				if object == imageText {
					t.Fatalf("The row replaces nothing: %q", tc.from)
				}
			}
			expectAnswer(t, a.review(t, object, "").ToAggregate(), tc.want)
		})
	}
}

func TestCloudStackImageChanges(t *testing.T) {
	const (
		fetched    = "status: {contentDigest: sha256:00}\n"
		registered = "status: {contentDigest: sha256:00, templateID: t1}\n"
	)
	tests := map[string]struct {
		status   string
		from, to string
		want     string
	}{
		"a typo before the import":       {from: "u.qcow2", to: "v.qcow2"},
		"the source after the import":    {status: fetched, from: "u.qcow2", to: "v.qcow2", want: "source and existingTemplate cannot be changed"},
		"the version after the import":   {status: fetched, from: "v1.32.3", to: "v1.32.4", want: "kubernetesVersion, os, arch and hypervisor cannot be changed"},
		"the os after the import":        {status: fetched, from: "ubuntu-24.04", to: "ubuntu-22.04", want: "kubernetesVersion, os, arch and hypervisor cannot be changed"},
		"the hypervisor removed":         {status: fetched, from: "  hypervisor: KVM\n", to: "", want: "kubernetesVersion, os, arch and hypervisor cannot be changed"},
		"the zone after the import":      {status: fetched, from: "zone: {name: zone-a}", to: "zone: {name: zone-b}", want: "zone and owner cannot be changed"},
		"an owner after the import":      {status: fetched, from: "  zone:", to: "  owner: {project: k8s}\n  zone:", want: "zone and owner cannot be changed"},
		"options before registration":    {status: fetched, from: "osType: Ubuntu", to: "osType: Other"},
		"options after registration":     {status: registered, from: "osType: Ubuntu", to: "osType: Other", want: "its options cannot be changed"},
		"the stage at any time":          {status: registered, from: "  template:", to: "  stage: Deprecated\n  template:"},
		"the delete policy at any time":  {status: registered, from: "  template:", to: "  deletePolicy: Delete\n  template:"},
		"the credentials at any time":    {status: registered, from: "name: cloudstack", to: "name: other"},
		"an expiration date at any time": {status: registered, from: "  template:", to: "  expirationDate: 2030-01-01T00:00:00Z\n  template:"},
	}
	a := newAdmission(t, "cloudstackimages")
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			before := imageText + tc.status
			after := strings.Replace(before, tc.from, tc.to, 1)
			if after == before {
				t.Fatalf("The row replaces nothing: %q", tc.from)
			}
			expectAnswer(t, a.review(t, after, before).ToAggregate(), tc.want)
		})
	}
}
