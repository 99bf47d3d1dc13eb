package webhook_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/controllers/webhook"
)

const clusterText = `
metadata: {name: c, namespace: team}
spec:
  failureDomains:
  - name: fd1
    acsEndpoint: {name: cloudstack, namespace: team}
    zone: {name: z, network: {name: net, gateway: 10.1.2.1, netmask: 255.255.255.0, vpc: {name: v, cidr: 10.1.0.0/16}}}
`

func TestClusterWebhook(t *testing.T) {
	tests := map[string]struct {
		from, to string
		before   string // replaces from in the cluster as it was
		create   bool
		deleting bool
		want     string
	}{
		"a new cluster":                            {create: true},
		"credentials without a namespace":          {create: true, from: ", namespace: team}\n    zone", to: "}\n    zone"},
		"credentials of another namespace":         {create: true, from: "cloudstack, namespace: team", to: "cloudstack, namespace: other", want: `put the Secret into "team"`},
		"credentials become those of another":      {from: "cloudstack, namespace: team", to: "cloudstack, namespace: other", want: `put the Secret into "team"`},
		"nothing, though it was never good":        {from: "cloudstack, namespace: team", to: "cloudstack, namespace: other", before: "cloudstack, namespace: other"},
		"what is going":                            {from: "cloudstack, namespace: team", to: "cloudstack, namespace: other", deleting: true},
		"a netmask with a hole":                    {create: true, from: "255.255.255.0", to: "255.0.255.0", want: "spec.failureDomains[0].zone.network.netmask"},
		"a netmask without room":                   {create: true, from: "255.255.255.0", to: "255.255.255.254", want: "room for machines"},
		"the network's own address as its gateway": {create: true, from: "10.1.2.1", to: "10.1.2.0", want: "cannot be its gateway"},
		"the broadcast address as its gateway":     {create: true, from: "10.1.2.1", to: "10.1.2.255", want: "cannot be its gateway"},
		"a tier outside of its VPC":                {create: true, from: "10.1.2.1", to: "10.2.2.1", want: "not within the VPC's 10.1.0.0/16"},
		"a tier larger than its VPC":               {create: true, from: "255.255.255.0", to: "255.254.0.0", want: "not within the VPC's 10.1.0.0/16"},
		"the network of one zone":                  {create: true, from: "  failureDomains:", to: "  network: {gateway: 10.1.2.1, netmask: 255.0.255.0}\n  failureDomains:", want: "spec.network.netmask"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			text := func(to string) string {
				out := strings.Replace(clusterText, tc.from, to, 1)
				if tc.from != "" && tc.from != to && out == clusterText {
					t.Fatalf("The row replaces nothing: %q", tc.from)
				}
				return out
			}
			before := read[infrav1.CloudStackCluster](t, clusterText)
			if tc.before != "" {
				before = read[infrav1.CloudStackCluster](t, text(tc.before))
			}
			after := read[infrav1.CloudStackCluster](t, text(tc.to))
			if tc.deleting {
				now := metav1.Now()
				after.DeletionTimestamp = &now
			}
			_, err := review(t.Context(), tc.create, &webhook.Cluster{}, before, after)
			expectRefusal(t, err, tc.want)
		})
	}
}
