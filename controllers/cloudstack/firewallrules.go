package cloudstack

import (
	"context"
	"slices"

	sdk "github.com/apache/cloudstack-go/v2/cloudstack"
)

// FirewallRule lets traffic in to a public address, or out of a network.
type FirewallRule struct {
	ID string
	// AddressID is empty for traffic that goes out.
	AddressID, NetworkID string
	// Protocol is tcp, udp, icmp or, for traffic that goes out, all.
	Protocol string
	// StartPort and EndPort are 0 for all ports.
	StartPort, EndPort int32
	// CIDRs are the sources, sorted; none means all, or for traffic that goes out the network itself.
	CIDRs []string
	// DestinationCIDRs are only for traffic that goes out.
	DestinationCIDRs []string
	// State is Add, Active or Deleting.
	State string
	Tags  map[string]string
}

// Deleting tells whether the rule is on its way out and stands in nobody's way any more.
func (f FirewallRule) Deleting() bool { return f.State == "Deleting" || f.State == "Revoke" }

// FirewallRules lists the rules of an address. Busy means that the address is not allocated yet, or no longer.
func (s *Session) FirewallRules(ctx context.Context, owner Owner, addressID string) ([]FirewallRule, error) {
	if err := need("listFirewallRules", addressID); err != nil {
		return nil, err
	}
	rows, err := s.listFirewallRules(ctx, owner, addressID)
	return slices.DeleteFunc(rows, func(f FirewallRule) bool { return !equalID(f.AddressID, addressID) }), err
}

func (s *Session) listFirewallRules(ctx context.Context, owner Owner, addressID string) ([]FirewallRule, error) {
	rows, err := readRows(ctx, s, "listFirewallRules", func(r *sdk.FirewallRule) string { return r.Id },
		func(c *sdk.CloudStackClient, number, size int) ([]*sdk.FirewallRule, int, error) {
			p := c.Firewall.NewListFirewallRulesParams()
			owner.scope(p, number, size, addressID)
			if addressID != "" {
				p.SetIpaddressid(addressID)
			}
			got, err := c.Firewall.ListFirewallRules(p)
			if err != nil {
				return nil, 0, err
			}
			return got.FirewallRules, got.Count, nil
		})
	if err != nil {
		return nil, err
	}
	out := make([]FirewallRule, 0, len(rows))
	for _, r := range rows {
		out = append(out, FirewallRule{
			ID: r.Id, AddressID: r.Ipaddressid, NetworkID: r.Networkid, Protocol: r.Protocol, StartPort: int32(r.Startport),
			EndPort: int32(r.Endport), CIDRs: sortedList(r.Cidrlist), State: r.State, Tags: tagMap(r.Tags),
		})
	}
	return out, nil
}

func sortedList(text string) []string {
	list := splitList(text)
	slices.Sort(list)
	return list
}

// CreateFirewallRule begins to open an address as the rule says; ID, State and Tags are not sent. Conflict means that such a
// rule stands already. When the job fails the rule is gone again.
func (s *Session) CreateFirewallRule(ctx context.Context, f FirewallRule) (id string, job Job, err error) {
	if err := need("createFirewallRule", f.AddressID, f.Protocol); err != nil {
		return "", "", err
	}
	got, err := invoke(ctx, s, func(c *sdk.CloudStackClient) (*sdk.CreateFirewallRuleResponse, error) {
		p := c.Firewall.NewCreateFirewallRuleParams(f.AddressID, f.Protocol)
		f.fill(p)
		return c.Firewall.CreateFirewallRule(p)
	})
	if err != nil {
		return "", "", err
	}
	return begun(got.Id, got.JobID, "createFirewallRule")
}

// ruleParams is what rules of both directions have in common.
type ruleParams interface {
	SetStartport(int)
	SetEndport(int)
	SetCidrlist([]string)
}

func (f FirewallRule) fill(p ruleParams) {
	if f.StartPort > 0 {
		p.SetStartport(int(f.StartPort))
		p.SetEndport(int(max(f.EndPort, f.StartPort)))
	}
	if len(f.CIDRs) > 0 {
		p.SetCidrlist(f.CIDRs)
	}
}

// DeleteFirewallRule begins to close what a rule opened. NotFound means that it is gone.
func (s *Session) DeleteFirewallRule(ctx context.Context, id string) (Job, error) {
	if err := need("deleteFirewallRule", id); err != nil {
		return "", err
	}
	got, err := invoke(ctx, s, func(c *sdk.CloudStackClient) (*sdk.DeleteFirewallRuleResponse, error) {
		return c.Firewall.DeleteFirewallRule(c.Firewall.NewDeleteFirewallRuleParams(id))
	})
	if err != nil {
		return "", err
	}
	return Job(got.JobID), nil
}
