package cloudstack

import (
	"context"
	"slices"
	"strconv"

	sdk "github.com/apache/cloudstack-go/v2/cloudstack"
)

// LoadBalancer is a load-balancer rule: one port of a public address, spread over machines.
type LoadBalancer struct {
	ID, Name, Description   string
	AddressID, IP           string
	NetworkID               string
	PublicPort, PrivatePort int32
	// Algorithm is roundrobin, leastconn or source.
	Algorithm string
	Protocol  string
	// CIDRs are the sources it takes; none means all.
	CIDRs []string
	// State is Active only while it has members. A finished rule without members stays in Add.
	State string
	Tags  map[string]string
}

// LoadBalancers lists the rules on an address.
func (s *Session) LoadBalancers(ctx context.Context, owner Owner, addressID string) ([]LoadBalancer, error) {
	if err := need("listLoadBalancerRules", addressID); err != nil {
		return nil, err
	}
	rows, err := s.listLoadBalancers(ctx, owner, "", addressID)
	return slices.DeleteFunc(rows, func(l LoadBalancer) bool { return !equalID(l.AddressID, addressID) }), err
}

// FindLoadBalancer finds a rule by its id.
func (s *Session) FindLoadBalancer(ctx context.Context, owner Owner, id string) (LoadBalancer, error) {
	if err := need("listLoadBalancerRules", id); err != nil {
		return LoadBalancer{}, err
	}
	rows, err := s.listLoadBalancers(ctx, owner, id, "")
	return oneOf(rows, err, "listLoadBalancerRules", id, func(l LoadBalancer) string { return l.ID })
}

func (s *Session) listLoadBalancers(ctx context.Context, owner Owner, id, addressID string) ([]LoadBalancer, error) {
	rows, err := readRows(ctx, s, "listLoadBalancerRules", func(r *sdk.LoadBalancerRule) string { return r.Id },
		func(c *sdk.CloudStackClient, number, size int) ([]*sdk.LoadBalancerRule, int, error) {
			p := c.LoadBalancer.NewListLoadBalancerRulesParams()
			owner.scope(p, number, size, id+addressID)
			if id != "" {
				p.SetId(id)
			}
			if addressID != "" {
				p.SetPublicipid(addressID)
			}
			got, err := c.LoadBalancer.ListLoadBalancerRules(p)
			if err != nil {
				return nil, 0, err
			}
			return got.LoadBalancerRules, got.Count, nil
		})
	if err != nil {
		return nil, err
	}
	out := make([]LoadBalancer, 0, len(rows))
	for _, row := range rows {
		out = append(out, LoadBalancer{
			ID: row.Id, Name: row.Name, Description: row.Description, AddressID: row.Publicipid, IP: row.Publicip,
			NetworkID: row.Networkid, PublicPort: port(row.Publicport), PrivatePort: port(row.Privateport),
			Algorithm: row.Algorithm, Protocol: row.Protocol, CIDRs: splitList(row.Cidrlist), State: row.State, Tags: tagMap(row.Tags),
		})
	}
	return out, nil
}

func port(text string) int32 {
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		return 0
	}
	return int32(n)
}

// NewLoadBalancer is what a load-balancer rule is made with.
type NewLoadBalancer struct {
	Name string
	// Description has room for an owner mark inside the call.
	Description string
	AddressID   string
	// NetworkID is needed for an address of a VPC.
	NetworkID               string
	PublicPort, PrivatePort int32
	// Algorithm is roundrobin, leastconn or source.
	Algorithm string
	CIDRs     []string
}

// CreateLoadBalancer begins to make a TCP rule, and no firewall rule for it. A port that is taken on the address is
// Conflict; an address whose own job has not ended is Busy.
func (s *Session) CreateLoadBalancer(ctx context.Context, n NewLoadBalancer) (id string, job Job, err error) {
	if err := need("createLoadBalancerRule", n.Name, n.AddressID, n.Algorithm); err != nil {
		return "", "", err
	}
	got, err := invoke(ctx, s, func(c *sdk.CloudStackClient) (*sdk.CreateLoadBalancerRuleResponse, error) {
		p := c.LoadBalancer.NewCreateLoadBalancerRuleParams(n.Algorithm, n.Name, int(n.PrivatePort), int(n.PublicPort))
		p.SetPublicipid(n.AddressID)
		// A rule without a protocol cannot be changed any more, and an opened firewall is open to everybody.
		p.SetProtocol("tcp")
		p.SetOpenfirewall(false)
		if n.NetworkID != "" {
			p.SetNetworkid(n.NetworkID)
		}
		if n.Description != "" {
			p.SetDescription(n.Description)
		}
		if len(n.CIDRs) > 0 {
			p.SetCidrlist(n.CIDRs)
		}
		return c.LoadBalancer.CreateLoadBalancerRule(p)
	})
	if err != nil {
		return "", "", err
	}
	return begun(got.Id, got.JobID, "createLoadBalancerRule")
}

// LoadBalancerChange is what a rule is changed to; what is empty stays.
type LoadBalancerChange struct {
	// Algorithm is roundrobin, leastconn or source. The server does not look whether it knows it.
	Algorithm string
	// CIDRs are the sources that it takes from now on. Servers before 4.22 ignore them.
	CIDRs []string
}

// UpdateLoadBalancer begins to change a rule, which keeps its members. NotFound means that it is gone. A rule that was made
// without a protocol fails, and is changed all the same.
func (s *Session) UpdateLoadBalancer(ctx context.Context, id string, to LoadBalancerChange) (Job, error) {
	if err := need("updateLoadBalancerRule", id); err != nil {
		return "", err
	}
	got, err := invoke(ctx, s, func(c *sdk.CloudStackClient) (*sdk.UpdateLoadBalancerRuleResponse, error) {
		p := c.LoadBalancer.NewUpdateLoadBalancerRuleParams(id)
		if to.Algorithm != "" {
			p.SetAlgorithm(to.Algorithm)
		}
		if len(to.CIDRs) > 0 {
			p.SetCidrlist(to.CIDRs)
		}
		return c.LoadBalancer.UpdateLoadBalancerRule(p)
	})
	if err != nil {
		return "", err
	}
	return Job(got.JobID), nil
}

// DeleteLoadBalancer begins to delete a rule with its members. NotFound means that it is gone.
func (s *Session) DeleteLoadBalancer(ctx context.Context, id string) (Job, error) {
	if err := need("deleteLoadBalancerRule", id); err != nil {
		return "", err
	}
	got, err := invoke(ctx, s, func(c *sdk.CloudStackClient) (*sdk.DeleteLoadBalancerRuleResponse, error) {
		return c.LoadBalancer.DeleteLoadBalancerRule(c.LoadBalancer.NewDeleteLoadBalancerRuleParams(id))
	})
	if err != nil {
		return "", err
	}
	return Job(got.JobID), nil
}
