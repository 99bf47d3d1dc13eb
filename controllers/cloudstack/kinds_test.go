package cloudstack_test

import (
	"fmt"
	"testing"

	"github.com/capcat/capcat/controllers/cloudstack"
)

func TestKindsOfRefusedMachinesAndNetworks(t *testing.T) {
	tests := map[string]struct {
		http, code int
		text       string
		want       cloudstack.Kind
	}{
		"machine expunged":         {431, 4350, "Unable to find UUID for id [12] of type [VirtualMachine]", cloudstack.NotFound},
		"name taken":               {431, 4350, "The vm with hostName a already exists in the network domain: x; network=y", cloudstack.Conflict},
		"limit":                    {535, 9999, "Maximum amount of resources of Type = 'user_vm', tag = 'null' for Account Name = a", cloudstack.Quota},
		"limit of addresses":       {532, 4280, "Maximum number of public IP addresses for account: a has been exceeded.", cloudstack.Quota},
		"no host":                  {533, 0, "No destination found for a deployment for VM instance {}", cloudstack.Capacity},
		"no host, other words":     {530, 0, "Unable to start a VM [x] due to [Unable to create a deployment for VM instance {}].", cloudstack.Capacity},
		"no guest address":         {530, 0, "Unable to acquire Guest IP address for network Network {}", cloudstack.Capacity},
		"no public address":        {533, 9999, "Insufficient address capacity", cloudstack.Capacity},
		"hidden":                   {530, 4250, "Internal error executing command, please contact your system administrator", cloudstack.Internal},
		"no right to expunge":      {530, 0, "Account does not have permission for expunging.", cloudstack.Forbidden},
		"the same on old servers":  {530, 0, "Parameter expunge can be passed by Admin only. Or when the key is set.", cloudstack.Forbidden},
		"protected":                {431, 0, "Instance [id = x, name = y] has delete protection enabled and cannot be deleted.", cloudstack.Forbidden},
		"disk of another machine":  {431, 0, "The following supplied volumes are not DATADISK attached to the VM: x", cloudstack.Conflict},
		"runs already":             {431, 0, "The virtual machine x (y) is already running", cloudstack.Conflict},
		"key unknown":              {431, 4350, "Not all specified keypairs exist", cloudstack.NotFound},
		"key unknown, old servers": {431, 4350, "Not all specified keyparis exist", cloudstack.NotFound},
		"offering removed":         {431, 4350, "Service offering is inactive: [x].", cloudstack.NotFound},
		"template removed":         {431, 4350, "Unable to use template 7", cloudstack.NotFound},
		"network deleted":          {431, 4350, "Network ID=7 doesn't exist", cloudstack.NotFound},
		"network deleted, deploy":  {431, 4350, "Unable to find network by id 7", cloudstack.NotFound},
		"machines in the network":  {530, 0, "Failed to delete network", cloudstack.InUse},
		"source NAT":               {530, 0, "ip address is used for source nat purposes and can not be disassociated.", cloudstack.InUse},
		"address of another":       {531, 4365, "Caller does not have permission to operate with provided resource.", cloudstack.Forbidden},
		"rule of a young address":  {431, 4350, "Unable to create load balancer rule, invalid IP address ID 7", cloudstack.Busy},
		"port taken":               {537, 9999, "The range specified, 6443-6443, conflicts with rule FirewallRule {} which has 6443-6443", cloudstack.Conflict},
		"icmp rule twice":          {431, 4350, "New rule conflicts with existing rule: FirewallRule {}", cloudstack.Conflict},
		"rule deleted":             {431, 9999, "Invalid parameter id value=x due to incorrect long value format, or entity does not exist", cloudstack.NotFound},
		"tag there":                {530, 0, "tag K already on UserVm with id x", cloudstack.Conflict},
		"tag not there":            {530, 0, "Failed to delete tags", cloudstack.NotFound},
		"thing to tag is gone":     {431, 0, "Unable to find resource by uuid x and type Network", cloudstack.NotFound},
		"group of that name":       {431, 4350, "Unable to create affinity group, a group with name a already exists.", cloudstack.Conflict},
		"member, whatever":         {530, 0, "Failed to assign load balancer rule", cloudstack.Internal},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s := newStub(t)
			s.on("destroyVirtualMachine", refuses("destroyvirtualmachineresponse", tc.http, tc.code, tc.text))
			s.on("queryAsyncJobResult", says(200, fmt.Sprintf(
				`{"queryasyncjobresultresponse":{"jobid":"j","jobstatus":2,"jobresultcode":%d,"jobresult":{"errorcode":%d,"errortext":%q}}}`,
				tc.http, tc.http, tc.text)))
			cloud := session(t, s)
			if _, err := cloud.DestroyVM(t.Context(), "x", cloudstack.DestroyOptions{}); !cloudstack.Is(err, tc.want) {
				t.Errorf("a reply is %v, want %s", err, tc.want)
			}
			outcome, err := cloud.JobOutcome(t.Context(), "j", "destroyVirtualMachine")
			if err != nil || outcome.Err == nil || outcome.Err.Kind != tc.want {
				t.Errorf("a job is %+v, %v, want %s", outcome.Err, err, tc.want)
			}
		})
	}
}

func TestEmptyIDsOfMachinesAndNetworksAreNeverSent(t *testing.T) {
	s := newStub(t)
	c := session(t, s)
	ctx, me := t.Context(), cloudstack.Owner{}
	calls := map[string]func() error{
		"FindVM":             func() error { _, err := c.FindVM(ctx, me, ""); return err },
		"VMsNamed":           func() error { _, err := c.VMsNamed(ctx, me, "z", ""); return err },
		"DeployVM":           func() error { _, _, err := c.DeployVM(ctx, cloudstack.NewVM{}); return err },
		"DestroyVM":          func() error { _, err := c.DestroyVM(ctx, "", cloudstack.DestroyOptions{}); return err },
		"StartVM":            func() error { _, err := c.StartVM(ctx, ""); return err },
		"StopVM":             func() error { _, err := c.StopVM(ctx, ""); return err },
		"VolumesOf":          func() error { _, err := c.VolumesOf(ctx, me, ""); return err },
		"FindNetwork":        func() error { _, err := c.FindNetwork(ctx, me, ""); return err },
		"NetworksNamed":      func() error { _, err := c.NetworksNamed(ctx, me, "z", ""); return err },
		"CreateNetwork":      func() error { _, err := c.CreateNetwork(ctx, cloudstack.NewNetwork{}); return err },
		"DeleteNetwork":      func() error { _, err := c.DeleteNetwork(ctx, ""); return err },
		"Addresses":          func() error { _, err := c.Addresses(ctx, cloudstack.AddressQuery{ZoneID: "z"}); return err },
		"FindAddress":        func() error { _, err := c.FindAddress(ctx, me, ""); return err },
		"AssociateAddress":   func() error { _, _, err := c.AssociateAddress(ctx, cloudstack.NewAddress{}); return err },
		"ReleaseAddress":     func() error { _, err := c.ReleaseAddress(ctx, cloudstack.Lease{AddressID: "a"}); return err },
		"LoadBalancers":      func() error { _, err := c.LoadBalancers(ctx, me, ""); return err },
		"FindLoadBalancer":   func() error { _, err := c.FindLoadBalancer(ctx, me, ""); return err },
		"CreateLoadBalancer": func() error { _, _, err := c.CreateLoadBalancer(ctx, cloudstack.NewLoadBalancer{}); return err },
		"DeleteLoadBalancer": func() error { _, err := c.DeleteLoadBalancer(ctx, ""); return err },
		"Members":            func() error { _, err := c.Members(ctx, ""); return err },
		"AddMembers":         func() error { _, err := c.AddMembers(ctx, "l", "a", ""); return err },
		"RemoveMembers":      func() error { _, err := c.RemoveMembers(ctx, "", "a"); return err },
		"FirewallRules":      func() error { _, err := c.FirewallRules(ctx, me, ""); return err },
		"CreateFirewallRule": func() error { _, _, err := c.CreateFirewallRule(ctx, cloudstack.FirewallRule{}); return err },
		"DeleteFirewallRule": func() error { _, err := c.DeleteFirewallRule(ctx, ""); return err },
		"EgressRules":        func() error { _, err := c.EgressRules(ctx, me, ""); return err },
		"CreateEgressRule":   func() error { _, _, err := c.CreateEgressRule(ctx, cloudstack.FirewallRule{}); return err },
		"Tags":               func() error { _, err := c.Tags(ctx, me, cloudstack.TagsOfVM, ""); return err },
		"CreateTags": func() error {
			_, err := c.CreateTags(ctx, cloudstack.TagsOfVM, map[string]string{"a": "b"})
			return err
		},
		"DeleteTags":         func() error { _, err := c.DeleteTags(ctx, cloudstack.TagsOfVM, nil, "x"); return err },
		"AffinityGroupNamed": func() error { _, err := c.AffinityGroupNamed(ctx, me, ""); return err },
		"FindAffinityGroup":  func() error { _, err := c.FindAffinityGroup(ctx, me, ""); return err },
		"CreateAffinity":     func() error { _, _, err := c.CreateAffinityGroup(ctx, me, cloudstack.AffinityGroup{}); return err },
		"DeleteAffinity":     func() error { _, err := c.DeleteAffinityGroup(ctx, me, ""); return err },
		"FindSSHKey":         func() error { _, err := c.FindSSHKey(ctx, me, ""); return err },
		"ServiceOfferings":   func() error { _, err := c.ServiceOfferings(ctx, me, ""); return err },
		"DiskOfferings":      func() error { _, err := c.DiskOfferings(ctx, me, ""); return err },
		"NetworkOfferings":   func() error { _, err := c.NetworkOfferings(ctx, ""); return err },
	}
	for name, call := range calls {
		if err := call(); !cloudstack.Is(err, cloudstack.Invalid) {
			t.Errorf("%s without an id gives %v, want Invalid", name, err)
		}
	}
	if len(s.seen) > 0 {
		t.Errorf("%d calls were sent", len(s.seen))
	}
}
