package cloudstack

import (
	"context"
	"slices"

	sdk "github.com/apache/cloudstack-go/v2/cloudstack"
)

// EgressRules lists the rules for traffic that goes out of an isolated network.
func (s *Session) EgressRules(ctx context.Context, owner Owner, networkID string) ([]FirewallRule, error) {
	if err := need("listEgressFirewallRules", networkID); err != nil {
		return nil, err
	}
	rows, err := s.listEgressRules(ctx, owner, networkID)
	return slices.DeleteFunc(rows, func(f FirewallRule) bool { return !equalID(f.NetworkID, networkID) }), err
}

func (s *Session) listEgressRules(ctx context.Context, owner Owner, networkID string) ([]FirewallRule, error) {
	rows, err := readRows(ctx, s, "listEgressFirewallRules", func(r *sdk.EgressFirewallRule) string { return r.Id },
		func(c *sdk.CloudStackClient, number, size int) ([]*sdk.EgressFirewallRule, int, error) {
			p := c.Firewall.NewListEgressFirewallRulesParams()
			owner.scope(p, number, size, networkID)
			if networkID != "" {
				p.SetNetworkid(networkID)
			}
			got, err := c.Firewall.ListEgressFirewallRules(p)
			if err != nil {
				return nil, 0, err
			}
			return got.EgressFirewallRules, got.Count, nil
		})
	if err != nil {
		return nil, err
	}
	out := make([]FirewallRule, 0, len(rows))
	for _, r := range rows {
		out = append(out, FirewallRule{
			ID: r.Id, NetworkID: r.Networkid, Protocol: r.Protocol, StartPort: int32(r.Startport), EndPort: int32(r.Endport),
			CIDRs: sortedList(r.Cidrlist), DestinationCIDRs: sortedList(r.Destcidrlist), State: r.State, Tags: tagMap(r.Tags),
		})
	}
	return out, nil
}

// CreateEgressRule begins to let traffic out of a network as the rule says; ID, State and Tags are not sent. Conflict means
// that such a rule stands already. When the job fails the rule is gone again. DeleteFirewallRule removes it.
func (s *Session) CreateEgressRule(ctx context.Context, f FirewallRule) (id string, job Job, err error) {
	if err := need("createEgressFirewallRule", f.NetworkID, f.Protocol); err != nil {
		return "", "", err
	}
	got, err := invoke(ctx, s, func(c *sdk.CloudStackClient) (*sdk.CreateEgressFirewallRuleResponse, error) {
		p := c.Firewall.NewCreateEgressFirewallRuleParams(f.NetworkID, f.Protocol)
		f.fill(p)
		if len(f.DestinationCIDRs) > 0 {
			p.SetDestcidrlist(f.DestinationCIDRs)
		}
		return c.Firewall.CreateEgressFirewallRule(p)
	})
	if err != nil {
		return "", "", err
	}
	return begun(got.Id, got.JobID, "createEgressFirewallRule")
}
