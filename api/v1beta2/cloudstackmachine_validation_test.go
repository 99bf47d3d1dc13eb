package v1beta2_test

import (
	"fmt"
	"strings"
	"testing"
)

// machineText is a machine with every field that goes together.
const machineText = `
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: CloudStackMachine
metadata: {name: m1, namespace: default}
spec:
  offering: {name: Medium Instance}
  image: {os: ubuntu-24.04}
  rootDiskSizeGiB: 40
  diskOffering: {name: Custom, customSizeInGB: 10, mountPath: /data, device: /dev/vdb, filesystem: ext4, label: data}
  networks: [{name: n1}, {id: n2, ip: 10.1.1.7}]
  sshKey: admin
  details: {cpuNumber: "4"}
  affinity: anti
  failureDomainName: fd1
  uncompressedUserData: false
`

// peerMachine is written as for the provider that machines come from.
const peerMachine = `
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: CloudStackMachine
metadata: {name: m1, namespace: default}
spec:
  sshKey: ""
  offering: {id: "", name: Large Instance}
  template: {id: "", name: kube-v1.23.3/ubuntu-2004}
  affinity: ""
  affinityGroupIDs: [f31623e8-7c34-4d3a-8a5a-2f0f4f7e6a01]
  details: {"memoryOvercommitRatio": "1.2"}
  failureDomainName: ""
`

func TestCloudStackMachineAdmission(t *testing.T) {
	tests := map[string]struct {
		base     string // machineText when empty
		from, to string
		want     string
	}{
		"every field":                       {},
		"a manifest of the peer":            {base: peerMachine},
		"no image: any system":              {from: "  image: {os: ubuntu-24.04}\n", to: ""},
		"a fixed template":                  {from: "image: {os: ubuntu-24.04}", to: "template: {name: mine}"},
		"a fixed template by both":          {from: "image: {os: ubuntu-24.04}", to: "template: {name: mine, id: t1}"},
		"a template without name":           {from: "image: {os: ubuntu-24.04}", to: `template: {name: ""}`, want: "give a name or an id"},
		"image and template":                {from: "  image:", to: "  template: {name: mine}\n  image:", want: "give either image"},
		"a preview by its name":             {from: "{os: ubuntu-24.04}", to: "{name: next, arch: aarch64, builds: NewestBuild}"},
		"an unknown architecture":           {from: "{os: ubuntu-24.04}", to: "{arch: amd64}", want: "Unsupported value"},
		"offering by id and name":           {from: "{name: Medium Instance}", to: "{name: Medium Instance, id: o1}"},
		"offering by class":                 {from: "{name: Medium Instance}", to: "{class: control-plane}"},
		"offering by minimum":               {from: "{name: Medium Instance}", to: "{minimum: {cpu: 2, memory: 2Gi}}"},
		"offering by nothing":               {from: "{name: Medium Instance}", to: "{}", want: "exactly one of name or id, class, or minimum"},
		"offering by an empty name":         {from: "{name: Medium Instance}", to: `{name: ""}`, want: "exactly one of name or id, class, or minimum"},
		"offering by class and name":        {from: "{name: Medium Instance}", to: "{class: c, name: x}", want: "exactly one of name or id, class, or minimum"},
		"offering by class and minimum":     {from: "{name: Medium Instance}", to: "{class: c, minimum: {cpu: 1}}", want: "exactly one of name or id, class, or minimum"},
		"a minimum of nothing":              {from: "{name: Medium Instance}", to: "{minimum: {}}", want: "at least 1 properties"},
		"no offering":                       {from: "  offering: {name: Medium Instance}\n", to: "", want: "offering: Required value"},
		"a root disk of nothing":            {from: "rootDiskSizeGiB: 40", to: "rootDiskSizeGiB: 0", want: "greater than or equal to 1"},
		"the root disk in details too":      {from: `{cpuNumber: "4"}`, to: `{rootdisksize: "50"}`, want: "either in rootDiskSizeGiB or in details"},
		"the root disk in details only":     {base: strings.Replace(machineText, "  rootDiskSizeGiB: 40\n", "", 1), from: `{cpuNumber: "4"}`, to: `{rootdisksize: "50"}`},
		"a disk offering of nothing":        {from: "{name: Custom, customSizeInGB: 10, mountPath: /data, device: /dev/vdb, filesystem: ext4, label: data}", to: `{customSizeInGB: 0, mountPath: "", device: "", filesystem: "", label: ""}`},
		"a disk offering of a mount only":   {from: "{name: Custom, customSizeInGB: 10, mountPath: /data, device: /dev/vdb, filesystem: ext4, label: data}", to: `{mountPath: /data}`, want: "name or the id of the disk offering"},
		"name and id, as of the peer":       {from: "  sshKey:", to: "  name: x\n  id: z\n  sshKey:"},
		"a disk offering without name":      {from: "diskOffering: {name: Custom, ", to: "diskOffering: {", want: "name or the id of the disk offering"},
		"a disk of less than nothing":       {from: "customSizeInGB: 10", to: "customSizeInGB: -1", want: "greater than or equal to 0"},
		"a network without name":            {from: "{name: n1}", to: "{ip: 10.1.1.1}", want: "name or the id of the network"},
		"an address that is none":           {from: "10.1.1.7", to: "10.1.1", want: "ip must be an IPv4 address"},
		"an address that is empty":          {from: "10.1.1.7", to: `""`},
		"reserved detail":                   {from: `{cpuNumber: "4"}`, to: "{capcat.owner: me}", want: "reserved 'capcat.'"},
		"a detail with a tab":               {from: `{cpuNumber: "4"}`, to: `{a: "x\ty"}`, want: "should match"},
		"a detail of two lines":             {from: `{cpuNumber: "4"}`, to: `{a: "x\ny"}`},
		"a key with a line feed":            {from: "sshKey: admin", to: `sshKey: "ad\nmin"`, want: "should match"},
		"an unknown affinity":               {from: "affinity: anti", to: "affinity: never", want: "Unsupported value"},
		"no affinity, quoted":               {from: "affinity: anti", to: `affinity: "no"`},
		"a soft affinity":                   {from: "affinity: anti", to: "affinity: soft-anti"},
		"affinity and groups":               {from: "  failureDomainName:", to: "  affinityGroupIDs: [g1]\n  failureDomainName:", want: "give either affinity or affinityGroupIDs"},
		"groups and explicitly no affinity": {from: "affinity: anti", to: "affinity: \"no\"\n  affinityGroupIDs: [g1]"},
		"a group twice":                     {from: "affinity: anti", to: "affinityGroupIDs: [g1, g1]", want: "Duplicate value"},
		"a provider ID":                     {from: "  sshKey:", to: "  providerID: cloudstack:///1b9d\n  sshKey:"},
	}
	a := newAdmission(t, "cloudstackmachines")
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			expectAnswer(t, a.review(t, replaced(t, tc.base, machineText, tc.from, tc.to), "").ToAggregate(), tc.want)
		})
	}
}

func TestCloudStackMachineChanges(t *testing.T) {
	const (
		resolved = "status: {resolved: {failureDomain: fd1, zoneID: z, templateID: t, offeringID: o}}\n"
		sent     = "status: {job: {id: j1, kind: Deploy, since: 2026-01-01T00:00:00Z}}\n"
		exists   = "status: {instanceID: i1}\n"
	)
	withID := strings.Replace(machineText, "spec:\n", "spec:\n  providerID: cloudstack:///1b9d\n", 1)
	tests := map[string]struct {
		base     string
		status   string
		from, to string
		want     string
	}{
		"nothing":                         {status: exists},
		"a typo before it is sent":        {status: resolved, from: "Medium Instance", to: "Large Instance"},
		"the offering once it is sent":    {status: sent, from: "Medium Instance", to: "Large Instance", want: "offering, image and template cannot be changed"},
		"the offering of a VM":            {status: exists, from: "Medium Instance", to: "Large Instance", want: "offering, image and template cannot be changed"},
		"the offering of a moved VM":      {base: withID, from: "Medium Instance", to: "Large Instance", want: "offering, image and template cannot be changed"},
		"the image of a VM":               {status: exists, from: "ubuntu-24.04", to: "rocky-9", want: "offering, image and template cannot be changed"},
		"the image of a VM taken away":    {status: exists, from: "  image: {os: ubuntu-24.04}\n", to: "", want: "offering, image and template cannot be changed"},
		"the template of a VM":            {status: exists, from: "image: {os: ubuntu-24.04}", to: "template: {id: x}", want: "offering, image and template cannot be changed"},
		"the root disk of a VM":           {status: exists, from: "rootDiskSizeGiB: 40", to: "rootDiskSizeGiB: 50", want: "disks and networks cannot be changed"},
		"the disk offering of a VM":       {status: exists, from: "customSizeInGB: 10", to: "customSizeInGB: 11", want: "disks and networks cannot be changed"},
		"the networks of a VM":            {status: exists, from: "{name: n1}, ", to: "", want: "disks and networks cannot be changed"},
		"the key of a VM":                 {status: exists, from: "sshKey: admin", to: "sshKey: other", want: "sshKey, details, affinity and failureDomainName cannot be changed"},
		"the details of a VM":             {status: exists, from: `cpuNumber: "4"`, to: `cpuNumber: "8"`, want: "sshKey, details, affinity and failureDomainName cannot be changed"},
		"the affinity of a VM":            {status: exists, from: "affinity: anti", to: "affinity: pro", want: "sshKey, details, affinity and failureDomainName cannot be changed"},
		"the place of a VM":               {status: exists, from: "failureDomainName: fd1", to: "failureDomainName: fd2", want: "sshKey, details, affinity and failureDomainName cannot be changed"},
		"compression, while it may help":  {status: resolved, from: "uncompressedUserData: false", to: "uncompressedUserData: true"},
		"the provider ID is filled in":    {status: exists, from: "  sshKey:", to: "  providerID: cloudstack:///1b9d\n  sshKey:"},
		"the provider ID becomes another": {base: withID, from: "///1b9d", to: "///2b9d", want: "providerID cannot be changed"},
		"the provider ID is taken away":   {base: withID, from: "  providerID: cloudstack:///1b9d\n", to: "", want: "providerID cannot be changed"},
	}
	a := newAdmission(t, "cloudstackmachines")
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			before := replaced(t, tc.base, machineText, "", "") + tc.status
			after := replaced(t, before, "", tc.from, tc.to)
			expectAnswer(t, a.review(t, after, before).ToAggregate(), tc.want)
		})
	}
}

func TestCloudStackMachineTemplateAdmission(t *testing.T) {
	const text = `
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: CloudStackMachineTemplate
metadata: {name: t1, namespace: default}
spec: {template: {metadata: {labels: {a: b}, annotations: {c: d}}, spec: %s}}
%s
`
	tests := map[string]struct{ spec, status, want string }{
		"an ordinary one":         {spec: "{offering: {class: worker}}"},
		"with what is known":      {spec: "{offering: {class: worker}}", status: `status: {capacity: {cpu: "2", memory: 2Gi}, nodeInfo: {architecture: arm64, operatingSystem: linux}}`},
		"unknown architecture":    {spec: "{offering: {class: worker}}", status: `status: {nodeInfo: {architecture: aarch64}}`, want: "Unsupported value"},
		"a provider ID":           {spec: "{offering: {class: worker}, providerID: 'cloudstack:///x'}", want: "providerID belongs to one machine"},
		"the rules of a machine":  {spec: "{offering: {class: worker}, image: {os: o}, template: {id: t}}", want: "give either image"},
		"no template of anything": {spec: "{}", want: "offering: Required value"},
	}
	a := newAdmission(t, "cloudstackmachinetemplates")
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			expectAnswer(t, a.review(t, fmt.Sprintf(text, tc.spec, tc.status), "").ToAggregate(), tc.want)
		})
	}
}
