package cloudstack

import (
	"cmp"
	"context"
	"time"

	sdk "github.com/apache/cloudstack-go/v2/cloudstack"
)

// VPC is a private cloud: networks, its tiers, behind one router.
type VPC struct {
	ID, Name, DisplayText string
	ZoneID, CIDR          string
	// Enabled is not set while the VPC is being deleted.
	Enabled                    bool
	Project, DomainID, Account string
	Created                    time.Time
	Tags                       map[string]string
}

// VPCsNamed lists the owner's VPCs of exactly that name in a zone, oldest first. Names need not be unique.
func (s *Session) VPCsNamed(ctx context.Context, owner Owner, zoneID, name string) ([]VPC, error) {
	if err := need("listVPCs", zoneID, name); err != nil {
		return nil, err
	}
	all, err := s.listVPCs(ctx, owner, "", zoneID, name)
	return named(all, zoneID, name, func(v VPC) naming { return naming{v.ID, v.Name, v.ZoneID, v.Created} }), err
}

// FindVPC finds a VPC by its id.
func (s *Session) FindVPC(ctx context.Context, owner Owner, id string) (VPC, error) {
	if err := need("listVPCs", id); err != nil {
		return VPC{}, err
	}
	rows, err := s.listVPCs(ctx, owner, id, "", "")
	return oneOf(rows, err, "listVPCs", id, func(v VPC) string { return v.ID })
}

// listVPCs lists VPCs; the name is a part of theirs.
func (s *Session) listVPCs(ctx context.Context, owner Owner, id, zoneID, name string) ([]VPC, error) {
	rows, err := readRows(ctx, s, "listVPCs", func(v *sdk.VPC) string { return v.Id },
		func(c *sdk.CloudStackClient, number, size int) ([]*sdk.VPC, int, error) {
			p := c.VPC.NewListVPCsParams()
			owner.scope(p, number, size, id)
			if id != "" {
				p.SetId(id)
			}
			if zoneID != "" {
				p.SetZoneid(zoneID)
			}
			if name != "" {
				p.SetName(name)
			}
			got, err := c.VPC.ListVPCs(p)
			if err != nil {
				return nil, 0, err
			}
			return got.VPCs, got.Count, nil
		})
	if err != nil {
		return nil, err
	}
	out := make([]VPC, 0, len(rows))
	for _, row := range rows {
		out = append(out, VPC{
			ID: row.Id, Name: row.Name, DisplayText: row.Displaytext, ZoneID: row.Zoneid, CIDR: row.Cidr, Enabled: row.State == "Enabled",
			Project: row.Projectid, DomainID: row.Domainid, Account: row.Account, Created: parseTime(row.Created), Tags: tagMap(row.Tags),
		})
	}
	return out, nil
}

// VPCOffering is a kind of VPC.
type VPCOffering struct{ ID, Name string }

// VPCOfferings lists the enabled VPC offerings. The answer may be two minutes old.
func (s *Session) VPCOfferings(ctx context.Context) ([]VPCOffering, error) {
	return recall(ctx, s.memo, "listVPCOfferings", offeringAge, func(ctx context.Context) ([]VPCOffering, error) {
		rows, err := readRows(ctx, s, "listVPCOfferings", func(o *sdk.VPCOffering) string { return o.Id },
			func(c *sdk.CloudStackClient, number, size int) ([]*sdk.VPCOffering, int, error) {
				p := c.VPC.NewListVPCOfferingsParams()
				p.SetPage(number)
				p.SetPagesize(size)
				p.SetState("Enabled")
				got, err := c.VPC.ListVPCOfferings(p)
				if err != nil {
					return nil, 0, err
				}
				return got.VPCOfferings, got.Count, nil
			})
		out := make([]VPCOffering, 0, len(rows))
		for _, row := range rows {
			out = append(out, VPCOffering{ID: row.Id, Name: row.Name})
		}
		return out, err
	})
}

// NewVPC is what a VPC is made with.
type NewVPC struct {
	Owner Owner
	Name  string
	// DisplayText has room for an owner mark inside the call; at most 255 characters.
	DisplayText        string
	ZoneID, OfferingID string
	CIDR               string
}

// CreateVPC begins to make a VPC. Neither names nor addresses need be unique: after LostReply or Internal it may exist, and
// another try makes a second one.
func (s *Session) CreateVPC(ctx context.Context, n NewVPC) (id string, job Job, err error) {
	if err := need("createVPC", n.Name, n.ZoneID, n.OfferingID, n.CIDR); err != nil {
		return "", "", err
	}
	got, err := invoke(ctx, s, func(c *sdk.CloudStackClient) (*sdk.CreateVPCResponse, error) {
		p := c.VPC.NewCreateVPCParams(n.CIDR, cmp.Or(n.DisplayText, n.Name), n.Name, n.OfferingID, n.ZoneID)
		n.Owner.fill(p)
		return c.VPC.CreateVPC(p)
	})
	if err != nil {
		return "", "", err
	}
	return begun(got.Id, got.JobID, "createVPC")
}

// DeleteVPC begins to delete a VPC with its addresses and ACL lists. NotFound means that it is gone. While it has tiers the
// job fails with Invalid.
func (s *Session) DeleteVPC(ctx context.Context, id string) (Job, error) {
	if err := need("deleteVPC", id); err != nil {
		return "", err
	}
	got, err := invoke(ctx, s, func(c *sdk.CloudStackClient) (*sdk.DeleteVPCResponse, error) {
		return c.VPC.DeleteVPC(c.VPC.NewDeleteVPCParams(id))
	})
	if err != nil {
		return "", err
	}
	return Job(got.JobID), nil
}
