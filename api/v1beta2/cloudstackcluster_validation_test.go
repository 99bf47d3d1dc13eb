package v1beta2_test

import (
	"fmt"
	"strings"
	"testing"
)

const clusterHead = `
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: CloudStackCluster
metadata: {name: c1, namespace: default}
`

// clusterText is a cluster with every field.
const clusterText = clusterHead + `
spec:
  identityRef: {name: cloudstack}
  controlPlaneEndpoint: {host: "", port: 6443}
  controlPlaneEndpointIP: "192.168.1.161"
  controlPlaneLoadBalancer:
    enabled: true
    algorithm: RoundRobin
    allowedCIDRs: [192.0.2.0/24]
    additionalPorts: [{name: join, port: 9345}]
  failureDomains:
  - name: fd1
    acsEndpoint: {name: zone-a, namespace: default}
    zone: {name: zone-a, network: {name: net, type: Isolated, offering: o, gateway: 10.0.0.1, netmask: 255.255.255.0, vpc: {name: v, cidr: 10.0.0.0/16}}}
    domain: ROOT/team
    account: team
    project: k8s
    hypervisor: KVM
    controlPlane: true
  catalogs: [{name: zone-a}]
  syncWithACS: false
`

// peerClusterText is written as for the provider that clusters come from, with another apiVersion.
const peerClusterText = clusterHead + `
spec:
  syncWithACS: false
  controlPlaneEndpoint:
    host: 192.168.1.161
    port: 6443
  failureDomains:
  - name: failure-domain-1
    acsEndpoint:
      name: cloudstack-credentials
      namespace: default
    zone:
      name: zone1
      network:
        id: ""
        name: GuestNet1
        type: ""
        vpc: {id: "", name: vpc1, cidr: "", offering: ""}
`

func TestCloudStackClusterAdmission(t *testing.T) {
	tests := map[string]struct {
		base     string // clusterText when empty
		from, to string
		want     string
	}{
		"every field":                             {},
		"a manifest of the peer":                  {base: peerClusterText},
		"a manifest of the peer, no address yet":  {base: peerClusterText, from: "host: 192.168.1.161", to: `host: ""`},
		"the shortest":                            {base: clusterHead + "spec: {identityRef: {name: x}}\n"},
		"one zone":                                {base: clusterHead + "spec: {identityRef: {name: x}, zone: {name: a}, network: {name: net}}\n"},
		"a network alone":                         {base: clusterHead + "spec: {identityRef: {name: x}, network: {id: net}}\n"},
		"no credentials":                          {base: clusterHead + "spec: {zone: {name: a}}\n", want: "identityRef is needed"},
		"no credentials in one failure domain":    {from: "  identityRef: {name: cloudstack}\n", to: "", base: strings.Replace(clusterText, "  catalogs:", "  - {name: fd2}\n  catalogs:", 1), want: "identityRef is needed"},
		"credentials in every failure domain":     {from: "  identityRef: {name: cloudstack}\n", to: ""},
		"zone and failure domains":                {from: "  catalogs:", to: "  zone: {name: a}\n  catalogs:", want: "give either failureDomains, or zone and network"},
		"network and failure domains":             {from: "  catalogs:", to: "  network: {name: a}\n  catalogs:", want: "give either failureDomains, or zone and network"},
		"network and no failure domains":          {base: clusterHead + "spec: {identityRef: {name: x}, network: {name: net}, failureDomains: []}\n"},
		"a failure domain twice":                  {from: "  catalogs:", to: "  - {name: fd1}\n  catalogs:", want: "Duplicate value"},
		"a failure domain in capitals":            {from: "name: fd1", to: "name: FD1", want: "should match"},
		"an address that is none":                 {from: `IP: "192.168.1.161"`, to: `IP: "192.168.1.400"`, want: "must be an IPv4 address"},
		"an address that is empty":                {from: `IP: "192.168.1.161"`, to: `IP: ""`},
		"a port out of range":                     {from: "port: 6443}", to: "port: 65536}", want: "less than or equal to 65535"},
		"a port of zero":                          {from: "port: 6443}", to: "port: 0}"},
		"an unknown algorithm":                    {from: "RoundRobin", to: "Random", want: "Unsupported value"},
		"a range without length":                  {from: "[192.0.2.0/24]", to: "[192.0.2.1]", want: "must be an IPv4 range"},
		"a range twice":                           {from: "[192.0.2.0/24]", to: "[192.0.2.0/24, 192.0.2.0/24]", want: "Duplicate value"},
		"an additional port twice":                {from: "port: 9345}", to: "port: 9345}, {name: other, port: 9345}", want: "a port is given twice"},
		"the port of the API again":               {from: "port: 9345}", to: "port: 6443}", want: "repeats the port of the API"},
		"the default port again":                  {base: clusterHead + "spec: {identityRef: {name: x}, controlPlaneLoadBalancer: {additionalPorts: [{name: a, port: 6443}]}}\n", want: "repeats the port of the API"},
		"no load balancer":                        {base: clusterHead + "spec: {identityRef: {name: x}, controlPlaneLoadBalancer: {enabled: false}}\n"},
		"no load balancer that has ports":         {from: "enabled: true", to: "enabled: false", want: "not enabled takes no"},
		"gateway without netmask":                 {from: ", netmask: 255.255.255.0", to: "", want: "gateway and netmask belong together"},
		"gateway that is none":                    {from: "gateway: 10.0.0.1", to: "gateway: 10.0.0", want: "gateway must be an IPv4 address"},
		"netmask that is none":                    {from: "255.255.255.0", to: `"24"`, want: "netmask must be an IPv4 mask"},
		"an unknown type of network":              {from: "type: Isolated", to: "type: Basic", want: "Unsupported value"},
		"a shared network that would be made":     {from: "type: Isolated", to: "type: Shared", want: "a Shared network is not created here"},
		"a shared network":                        {base: clusterHead + "spec: {identityRef: {name: x}, network: {name: net, type: Shared}}\n"},
		"a routed network":                        {base: clusterHead + "spec: {identityRef: {name: x}, network: {name: net, routingMode: Static}}\n"},
		"a network name with a tab":               {base: clusterHead + "spec: {identityRef: {name: x}, network: {name: \"a\\tb\"}}\n", want: "should match"},
		"a network name of other letters":         {base: clusterHead + "spec: {identityRef: {name: x}, network: {name: \"Größe 1 (böse) ~%_\"}}\n"},
		"a routed tier":                           {from: "vpc:", to: "routingMode: Dynamic, vpc:", want: "takes no routingMode"},
		"a VPC without name":                      {from: "vpc: {name: v, ", to: "vpc: {", want: "name or the id of the VPC"},
		"a VPC with a wrong range":                {from: "10.0.0.0/16", to: "10.0.0.0", want: "cidr must be an IPv4 range"},
		"keys of a Secret without name":           {from: "acsEndpoint: {name: zone-a, namespace: default}", to: "acsEndpoint: {keys: {apiKey: k}}", want: "keys need the name of their Secret"},
		"an account whose domain is not told":     {from: "    domain: ROOT/team\n", to: ""},
		"a catalog twice":                         {from: "[{name: zone-a}]", to: "[{name: zone-a}, {name: zone-a}]", want: "Duplicate value"},
		"an empty status field, as clients do it": {from: "\nspec:", to: "\nstatus: {observedGeneration: 1, initialization: {provisioned: true}}\nspec:"},
	}
	a := newAdmission(t, "cloudstackclusters")
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			expectAnswer(t, a.review(t, replaced(t, tc.base, clusterText, tc.from, tc.to), "").ToAggregate(), tc.want)
		})
	}
}

// replaced makes one replacement in base, or in usual when base is empty.
func replaced(t *testing.T, base, usual, from, to string) string {
	t.Helper()
	if base == "" {
		base = usual
	}
	if from == "" {
		return base
	}
	out := strings.Replace(base, from, to, 1)
	if out == base {
		t.Fatalf("The row replaces nothing: %q", from)
	}
	return out
}

func TestCloudStackClusterChanges(t *testing.T) {
	const (
		resolved = "status: {resolved: [{name: fd1, zoneID: z1}]}\n"
		reserved = "status: {loadBalancer: {publicIPID: i, publicIP: 192.0.2.7}}\n"
	)
	oneZone := clusterHead + "spec: {identityRef: {name: x}, zone: {name: a}, network: {name: net}}\n"
	withHost := strings.Replace(clusterText, `{host: "", port: 6443}`, `{host: api.example.org, port: 6443}`, 1)
	tests := map[string]struct {
		base     string // clusterText when empty
		status   string
		from, to string
		want     string
	}{
		"nothing":                                   {base: withHost, status: resolved},
		"the host when there was none":              {from: `host: ""`, to: "host: 192.0.2.1"},
		"the host once it is set":                   {base: withHost, from: "api.example.org", to: "192.0.2.1", want: "host of controlPlaneEndpoint cannot be changed"},
		"the host emptied, to be filled in again":   {base: withHost, from: "api.example.org", to: `""`},
		"the endpoint left out by who did not know": {base: withHost, from: "  controlPlaneEndpoint: {host: api.example.org, port: 6443}\n", to: ""},
		"the port before there is a host":           {from: "port: 6443", to: "port: 443"},
		"the port once there is a host":             {base: withHost, from: "port: 6443", to: "port: 443", want: "port of controlPlaneEndpoint cannot be changed"},
		"a wrong zone before it is found":           {from: "zone: {name: zone-a", to: "zone: {name: zone-b"},
		"the zone of a failure domain in use":       {status: resolved, from: "zone: {name: zone-a", to: "zone: {name: zone-b", want: "the failure domain is in use"},
		"the network of a failure domain in use":    {status: resolved, from: "network: {name: net", to: "network: {name: other", want: "the failure domain is in use"},
		"the project of a failure domain in use":    {status: resolved, from: "    project: k8s\n", to: "", want: "the failure domain is in use"},
		"the account of a failure domain in use":    {status: resolved, from: "account: team", to: "account: other", want: "the failure domain is in use"},
		"the credentials of a failure domain":       {status: resolved, from: "acsEndpoint: {name: zone-a", to: "acsEndpoint: {name: other"},
		"control planes leave a failure domain":     {status: resolved, from: "controlPlane: true", to: "controlPlane: false"},
		"another failure domain":                    {status: resolved, from: "  catalogs:", to: "  - {name: fd2}\n  catalogs:"},
		"a failure domain goes, another comes":      {status: resolved, from: "name: fd1", to: "name: fd2"},
		"a failure domain that is not in use":       {status: "status: {resolved: [{name: fd2, zoneID: z1}]}\n", from: "zone: {name: zone-a", to: "zone: {name: zone-b"},
		"the only zone before it is found":          {base: oneZone, from: "zone: {name: a}", to: "zone: {name: b}"},
		"the only zone in use":                      {base: oneZone, status: resolved, from: "zone: {name: a}", to: "zone: {name: b}", want: "the network is in use"},
		"the only network in use":                   {base: oneZone, status: resolved, from: "network: {name: net}", to: "network: {name: n2}", want: "the network is in use"},
		"the only network taken away":               {base: oneZone, status: resolved, from: ", network: {name: net}", to: "", want: "the network is in use"},
		"the address before it is reserved":         {from: "192.168.1.161", to: "192.168.1.162"},
		"the address once it is reserved":           {status: reserved, from: "192.168.1.161", to: "192.168.1.162", want: "the public address is in use"},
		"the address that is reserved":              {status: reserved, from: "192.168.1.161", to: "192.0.2.7"},
		"the address once it is reserved, emptied":  {status: reserved, from: `IP: "192.168.1.161"`, to: `IP: ""`},
		"who may reach the load balancer":           {status: resolved, from: "[192.0.2.0/24]", to: "[198.51.100.0/24]"},
		"the catalogs":                              {status: resolved, from: "  catalogs: [{name: zone-a}]\n", to: ""},
	}
	a := newAdmission(t, "cloudstackclusters")
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			before := replaced(t, tc.base, clusterText, "", "") + tc.status
			after := replaced(t, before, "", tc.from, tc.to)
			expectAnswer(t, a.review(t, after, before).ToAggregate(), tc.want)
		})
	}
}

// TestClusterTemplateMayBeIncomplete: what patches of a ClusterClass fill in need not stand in the template.
func TestClusterTemplateMayBeIncomplete(t *testing.T) {
	const text = `
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: CloudStackClusterTemplate
metadata: {name: c1, namespace: default}
spec: {template: {metadata: {labels: {a: b}}, spec: %s}}
`
	tests := map[string]struct{ spec, want string }{
		"with credentials":    {spec: "{identityRef: {name: x}}"},
		"without credentials": {spec: "{network: {name: net}}"},
		"contradictory":       {spec: "{network: {name: net}, failureDomains: [{name: a}]}", want: "give either failureDomains"},
	}
	a := newAdmission(t, "cloudstackclustertemplates")
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			expectAnswer(t, a.review(t, fmt.Sprintf(text, tc.spec), "").ToAggregate(), tc.want)
		})
	}
}

// TestLargeClusterCost makes sure that a cluster with every failure domain it may have stays far inside the budget of one request.
func TestLargeClusterCost(t *testing.T) {
	var domains, resolved []string
	for i := range 32 {
		domains = append(domains, fmt.Sprintf("{name: fd%d, acsEndpoint: {name: s}, zone: {name: zone-%d, network: {name: a-network-%d, gateway: 10.0.0.1, netmask: 255.255.255.0}}, project: p}", i, i, i))
		resolved = append(resolved, fmt.Sprintf("{name: fd%d, zoneID: z}", i))
	}
	text := fmt.Sprintf("%sspec: {failureDomains: [%s]}\nstatus: {resolved: [%s]}\n", clusterHead, strings.Join(domains, ","), strings.Join(resolved, ","))
	errs, cost := newAdmission(t, "cloudstackclusters").reviewWithCost(t, text, text)
	if err := errs.ToAggregate(); err != nil {
		t.Fatalf("Refused: %v", err)
	}
	if limit := int64(1_000_000); cost > limit {
		t.Errorf("Cost = %d, want at most %d", cost, limit)
	}
}
