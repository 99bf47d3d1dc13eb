package cloudsim_test

import "testing"

// Commands differ in who looks for the account that a call names, and each says it in its own words.
func TestOwnersThatAreNotFound(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	root := s.seeded("domain/ROOT")
	key := []string{"name", "k", "publickey", "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAAAIQC7 x"}
	group := []string{"name", "g", "type", "host affinity"}
	offerings := map[string][]string{
		"createNetwork": {"name", "n", "zoneid", s.seeded("zone/zone-a"), "networkofferingid", s.seeded("networkoffering/DefaultIsolatedNetworkOfferingWithSourceNatService")},
		"createVPC":     {"name", "v", "displaytext", "v", "cidr", "10.0.0.0/16", "zoneid", s.seeded("zone/zone-a"), "vpcofferingid", s.seeded("vpcoffering/Default VPC offering")},
	}
	const (
		refused = "HTTP 531 Caller does not have permission to operate with provided resource."
		cannot  = "HTTP 531 Can't create/list resources for account vm2 in domain 1, permission denied"
		alone   = "HTTP 431 Account must be specified with domainId parameter"
		unknown = "HTTP 431 Unable to find account by name nobody in domain with specified id"
	)
	for name, row := range map[string]struct {
		command         string
		params          []string
		domain, account string
		want            string
	}{
		"network without domain":           {"createNetwork", offerings["createNetwork"], "", "vm1", alone},
		"network of nobody":                {"createNetwork", offerings["createNetwork"], root, "nobody", unknown},
		"network of another":               {"createNetwork", offerings["createNetwork"], root, "vm2", cannot},
		"VPC of another":                   {"createVPC", offerings["createVPC"], root, "vm2", refused},
		"key pair of nobody":               {"registerSSHKeyPair", key, root, "nobody", unknown},
		"key pair of another":              {"registerSSHKeyPair", key, root, "vm2", cannot},
		"affinity group of another":        {"createAffinityGroup", group, root, "vm2", cannot},
		"affinity group of nobody":         {"createAffinityGroup", group, root, "nobody", "HTTP 531 Can't create/list resources for account nobody in domain 1, permission denied"},
		"security group of another":        {"createSecurityGroup", []string{"name", "s"}, root, "vm2", cannot},
		"security group without domain":    {"createSecurityGroup", []string{"name", "s"}, "", "vm1", "HTTP 431 AccountName and domainId must be specified together"},
		"address of another":               {"associateIpAddress", []string{"networkid", s.network}, root, "vm2", cannot},
		"address without domain, unheeded": {"associateIpAddress", []string{"networkid", s.network}, "", "vm2", ""},
		"network in the own name":          {"createNetwork", offerings["createNetwork"], root, "vm1", ""},
	} {
		t.Run(name, func(t *testing.T) {
			params := append([]string{"account", row.account}, row.params...)
			if row.domain != "" {
				params = append(params, "domainid", row.domain)
			}
			if got := s.outcome(row.command, params...); got != row.want {
				t.Errorf("%q, want %q", got, row.want)
			}
		})
	}
}
