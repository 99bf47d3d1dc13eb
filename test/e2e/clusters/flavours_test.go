//go:build e2e

package clusters

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"testing"

	acs "github.com/apache/cloudstack-go/v2/cloudstack"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/test/cloudsim"
	"github.com/capcat/capcat/test/stage"
)

// Every flavour of the release makes a cluster, and what the user has brought along is still there afterwards.
func TestFlavours(t *testing.T) {
	s := begin(t)
	s.catalog([]string{"zone-kvm"}, "v1.34.2")
	template, things := s.templateName(), s.bring()
	clusters := []struct {
		flavour   string
		size      size
		variables []string
	}{
		{"fixed-template", size{1, 1}, []string{"CLOUDSTACK_TEMPLATE_NAME=" + template, "CLOUDSTACK_CONTROL_PLANE_MACHINE_OFFERING=Large Instance", "CLOUDSTACK_WORKER_MACHINE_OFFERING=Large Instance"}},
		{"managed-ssh", size{1, 1}, []string{"CLOUDSTACK_SSH_KEY_NAME=" + things.key}},
		{"disk-offering", size{1, 1}, []string{"CLOUDSTACK_DISK_OFFERING_NAME=Small"}},
		{"kube-vip", size{3, 1}, []string{"CLOUDSTACK_NETWORK_NAME=" + things.network.Name, "CLOUDSTACK_ENDPOINT_IP=" + things.address}},
		{"existing-vpc-network", size{1, 1}, []string{
			"CLOUDSTACK_VPC_NAME=" + things.vpc, "CLOUDSTACK_NETWORK_NAME=tier", "CLOUDSTACK_NETWORK_GATEWAY=10.50.1.1", "CLOUDSTACK_NETWORK_NETMASK=255.255.255.0",
		}},
		{"stock-image", size{1, 1}, []string{"CLOUDSTACK_TEMPLATE_NAME=" + template}},
	}
	for _, c := range clusters {
		s.generate(c.flavour, "v1.34.2", c.size, c.flavour, append(c.variables, "CLOUDSTACK_ZONE_NAME=zone-kvm")...)
	}
	for _, c := range clusters {
		s.runs(c.flavour, "v1.34.2", c.size)
	}
	for _, c := range clusters {
		s.remove(c.flavour)
	}
	s.takeAway(things)
}

// templateName is that of the only image of the story.
func (s *story) templateName() string {
	s.t.Helper()
	var images infrav1.CloudStackImageList
	s.must(s.client.List(s.t.Context(), &images, client.InNamespace(s.namespace)))
	if len(images.Items) != 1 {
		s.t.Fatalf("there are %d images, want one", len(images.Items))
	}
	return images.Items[0].Status.TemplateName
}

// things are what a user has in CloudStack before there is a cluster.
type things struct {
	key, vpc, vpcID string
	network         *acs.Network
	address         string // in the network, and nobody's
}

// bring makes a key pair and a VPC, and finds the shared network.
func (s *story) bring() things {
	s.t.Helper()
	cloud := s.cloud(stage.Caller)
	have := things{key: s.namespace, vpc: s.namespace}
	_, err := cloud.SSH.CreateSSHKeyPair(cloud.SSH.NewCreateSSHKeyPairParams(have.key))
	s.must(err)
	shared := cloud.Network.NewListNetworksParams()
	shared.SetType("Shared")
	networks, err := cloud.Network.ListNetworks(shared)
	s.must(err)
	for _, n := range networks.Networks {
		if n.Zonename == "zone-kvm" {
			have.network = n
		}
	}
	gateway := netip.MustParseAddr(have.network.Gateway).As4()
	gateway[3] = 220 // beyond those that CloudStack gives to machines
	have.address = netip.AddrFrom4(gateway).String()

	offering, _, err := cloud.VPC.GetVPCOfferingByName("Default VPC offering")
	s.must(err)
	vpc, err := cloud.VPC.CreateVPC(cloud.VPC.NewCreateVPCParams("10.50.0.0/16", have.vpc, have.vpc, offering.Id, have.network.Zoneid))
	s.must(err)
	have.vpcID = vpc.Id
	return have
}

// takeAway deletes what bring has made, which must still be there.
func (s *story) takeAway(have things) {
	s.t.Helper()
	cloud := s.cloud(stage.Caller)
	_, err := cloud.SSH.DeleteSSHKeyPair(cloud.SSH.NewDeleteSSHKeyPairParams(have.key))
	s.must(err)
	_, err = cloud.VPC.DeleteVPC(cloud.VPC.NewDeleteVPCParams(have.vpcID))
	s.must(err)
	s.eventually("the end of the VPC", func(ctx context.Context) error {
		inventory, err := world.Cloud.Inventory(ctx)
		if err == nil && slices.ContainsFunc(inventory.VPCs, func(v cloudsim.InventoryItem) bool { return v.ID == have.vpcID }) {
			err = errors.New("it is still there")
		}
		return err
	})
}
