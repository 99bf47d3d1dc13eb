package cloudstack

import (
	"context"
	"slices"

	sdk "github.com/apache/cloudstack-go/v2/cloudstack"
)

// Members lists the ids of the machines behind a load-balancer rule, sorted. Destroyed machines are not shown, though they
// stay members. NotFound means that the rule is gone.
func (s *Session) Members(ctx context.Context, loadBalancerID string) ([]string, error) {
	if err := need("listLoadBalancerRuleInstances", loadBalancerID); err != nil {
		return nil, err
	}
	var got struct {
		Rows []*vmRow `json:"loadbalancerruleinstance"`
	}
	_, err := invoke(ctx, s, func(c *sdk.CloudStackClient) (bool, error) {
		// The list has no pages; it is always whole.
		p := &sdk.CustomServiceParams{}
		p.SetParam("id", loadBalancerID)
		return true, custom(c).CustomRequest("listLoadBalancerRuleInstances", p, &got)
	})
	if err != nil {
		return nil, err
	}
	ids := make([]string, 0, len(got.Rows))
	for _, row := range got.Rows {
		ids = append(ids, row.ID)
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}

// AddMembers begins to put machines behind a rule. The job fails as a whole, and in the same way for every reason, one
// being that a machine is a member already: compare Members before and after. Without machines there is no job.
func (s *Session) AddMembers(ctx context.Context, loadBalancerID string, vmIDs ...string) (Job, error) {
	if err := need("assignToLoadBalancerRule", slices.Concat(vmIDs, []string{loadBalancerID})...); err != nil || len(vmIDs) == 0 {
		return "", err
	}
	got, err := invoke(ctx, s, func(c *sdk.CloudStackClient) (*sdk.AssignToLoadBalancerRuleResponse, error) {
		p := c.LoadBalancer.NewAssignToLoadBalancerRuleParams(loadBalancerID)
		p.SetVirtualmachineids(vmIDs)
		return c.LoadBalancer.AssignToLoadBalancerRule(p)
	})
	if err != nil {
		return "", err
	}
	return Job(got.JobID), nil
}

// RemoveMembers begins to take machines out of a rule. Those that are no members do not matter; without machines there is no
// job.
func (s *Session) RemoveMembers(ctx context.Context, loadBalancerID string, vmIDs ...string) (Job, error) {
	if err := need("removeFromLoadBalancerRule", slices.Concat(vmIDs, []string{loadBalancerID})...); err != nil || len(vmIDs) == 0 {
		return "", err
	}
	got, err := invoke(ctx, s, func(c *sdk.CloudStackClient) (*sdk.RemoveFromLoadBalancerRuleResponse, error) {
		p := c.LoadBalancer.NewRemoveFromLoadBalancerRuleParams(loadBalancerID)
		p.SetVirtualmachineids(vmIDs)
		return c.LoadBalancer.RemoveFromLoadBalancerRule(p)
	})
	if err != nil {
		return "", err
	}
	return Job(got.JobID), nil
}
