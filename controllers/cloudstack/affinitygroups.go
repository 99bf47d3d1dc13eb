package cloudstack

import (
	"context"
	"slices"

	sdk "github.com/apache/cloudstack-go/v2/cloudstack"
)

// AffinityType is how the machines of an affinity group are placed.
type AffinityType string

// The types of affinity groups, as CloudStack spells them.
const (
	HostAntiAffinity     AffinityType = "host anti-affinity"
	HostAffinity         AffinityType = "host affinity"
	SoftHostAntiAffinity AffinityType = "non-strict host anti-affinity"
	SoftHostAffinity     AffinityType = "non-strict host affinity"
)

// AffinityGroup places machines on hosts. It cannot be tagged: its description is the place for an owner mark.
type AffinityGroup struct {
	ID, Name, Description      string
	Type                       AffinityType
	Project, DomainID, Account string
	// VMs are the ids of the machines in it, sorted.
	VMs []string
}

// AffinityGroupNamed finds the owner's affinity group of that name, compared exactly.
func (s *Session) AffinityGroupNamed(ctx context.Context, owner Owner, name string) (AffinityGroup, error) {
	if err := need("listAffinityGroups", name); err != nil {
		return AffinityGroup{}, err
	}
	groups, err := s.listAffinityGroups(ctx, owner, "", name)
	if err != nil {
		return AffinityGroup{}, err
	}
	for _, g := range groups {
		if g.Name == name && owner.has(g.Project, g.DomainID, g.Account) {
			return g, nil
		}
	}
	return AffinityGroup{}, newError(NotFound, "listAffinityGroups", "no affinity group %q is seen", name)
}

// FindAffinityGroup finds an affinity group by its id.
func (s *Session) FindAffinityGroup(ctx context.Context, owner Owner, id string) (AffinityGroup, error) {
	if err := need("listAffinityGroups", id); err != nil {
		return AffinityGroup{}, err
	}
	groups, err := s.listAffinityGroups(ctx, owner, id, "")
	return oneOf(groups, err, "listAffinityGroups", id, func(g AffinityGroup) string { return g.ID })
}

func (s *Session) listAffinityGroups(ctx context.Context, owner Owner, id, name string) ([]AffinityGroup, error) {
	rows, err := readRows(ctx, s, "listAffinityGroups", func(g *sdk.AffinityGroup) string { return g.Id },
		func(c *sdk.CloudStackClient, number, size int) ([]*sdk.AffinityGroup, int, error) {
			p := c.AffinityGroup.NewListAffinityGroupsParams()
			owner.scope(p, number, size, id)
			if id != "" {
				p.SetId(id)
			}
			if name != "" {
				p.SetName(name)
			}
			got, err := c.AffinityGroup.ListAffinityGroups(p)
			if err != nil {
				return nil, 0, err
			}
			return got.AffinityGroups, got.Count, nil
		})
	if err != nil {
		return nil, err
	}
	out := make([]AffinityGroup, 0, len(rows))
	for _, row := range rows {
		out = append(out, AffinityGroup{
			ID: row.Id, Name: row.Name, Description: row.Description, Type: AffinityType(row.Type),
			Project: row.Projectid, DomainID: row.Domainid, Account: row.Account, VMs: slices.Sorted(slices.Values(row.VirtualmachineIds)),
		})
	}
	return out, nil
}

// CreateAffinityGroup begins to make a group; it is listed at once. A name that the owner has already is Conflict, in
// whatever case and of whatever type.
func (s *Session) CreateAffinityGroup(ctx context.Context, owner Owner, g AffinityGroup) (id string, job Job, err error) {
	if err := need("createAffinityGroup", g.Name, string(g.Type)); err != nil {
		return "", "", err
	}
	got, err := invoke(ctx, s, func(c *sdk.CloudStackClient) (*sdk.CreateAffinityGroupResponse, error) {
		p := c.AffinityGroup.NewCreateAffinityGroupParams(g.Name, string(g.Type))
		p.SetDescription(g.Description)
		owner.fill(p)
		return c.AffinityGroup.CreateAffinityGroup(p)
	})
	if err != nil {
		return "", "", err
	}
	return begun(got.Id, got.JobID, "createAffinityGroup")
}

// DeleteAffinityGroup begins to delete a group. Machines in it stay as they are. NotFound means that it is gone.
func (s *Session) DeleteAffinityGroup(ctx context.Context, owner Owner, id string) (Job, error) {
	if err := need("deleteAffinityGroup", id); err != nil {
		return "", err
	}
	got, err := invoke(ctx, s, func(c *sdk.CloudStackClient) (*sdk.DeleteAffinityGroupResponse, error) {
		p := c.AffinityGroup.NewDeleteAffinityGroupParams()
		p.SetId(id)
		if owner.ProjectID != "" {
			p.SetProjectid(owner.ProjectID)
		}
		return c.AffinityGroup.DeleteAffinityGroup(p)
	})
	if err != nil {
		return "", err
	}
	s.memo.forgetAll("listAffinityGroups/" + owner.key() + "/")
	return Job(got.JobID), nil
}
