package cloudstack

import (
	"context"
	"slices"

	sdk "github.com/apache/cloudstack-go/v2/cloudstack"
)

// AddressState is a state of a public address.
type AddressState string

// The states of public addresses.
const (
	AddressFree       AddressState = "Free"
	AddressAllocating AddressState = "Allocating"
	AddressAllocated  AddressState = "Allocated"
	AddressReleasing  AddressState = "Releasing"
	AddressReserved   AddressState = "Reserved"
)

// Address is a public address. Its id belongs to the address and not to the lease: after a release somebody else may have
// the address under the same id.
type Address struct {
	ID, IP string
	State  AddressState
	ZoneID string
	// NetworkID is the guest network that the address serves; empty for a free one and one that is being allocated.
	NetworkID, VPCID string
	// SourceNAT addresses cannot be released while their network runs.
	SourceNAT, StaticNAT       bool
	Project, DomainID, Account string
	Tags                       map[string]string
	// Job is at work on it; empty when none is.
	Job Job
}

// AddressQuery narrows a listing of addresses; one of the fields beside Owner must be given.
type AddressQuery struct {
	Owner Owner
	// NetworkID wants the addresses of a network, VPCID those of a VPC.
	NetworkID, VPCID string
	// ZoneID and IP want one address, be it free or not.
	ZoneID, IP string
}

// Addresses lists the owner's addresses, those that are being allocated included, or with an IP that one address in
// whatever state the caller sees it.
func (s *Session) Addresses(ctx context.Context, q AddressQuery) ([]Address, error) {
	if q.NetworkID+q.VPCID == "" && (q.ZoneID == "" || q.IP == "") {
		return nil, newError(Invalid, "listPublicIpAddresses", "neither a network, nor a VPC, nor a zone with an address is given")
	}
	filter := addressFilter{zoneID: q.ZoneID, networkID: q.NetworkID, vpcID: q.VPCID, ip: q.IP, free: q.IP != ""}
	all, err := s.listAddresses(ctx, q.Owner, filter)
	if err == nil && len(all) == 0 && q.IP != "" && q.Owner != (Owner{}) {
		// Free addresses belong to nobody.
		all, err = s.listAddresses(ctx, Owner{}, filter)
		all = slices.DeleteFunc(all, func(a Address) bool { return a.State != AddressFree })
	}
	return slices.DeleteFunc(all, func(a Address) bool { return !q.fits(a) }), err
}

func (q AddressQuery) fits(a Address) bool {
	return (q.NetworkID == "" || equalID(a.NetworkID, q.NetworkID)) && (q.VPCID == "" || equalID(a.VPCID, q.VPCID)) && (q.IP == "" || a.IP == q.IP) &&
		(q.ZoneID == "" || equalID(a.ZoneID, q.ZoneID))
}

// FindAddress finds an address by its id. NotFound means that the caller has no such address, or no longer.
func (s *Session) FindAddress(ctx context.Context, owner Owner, id string) (Address, error) {
	if err := need("listPublicIpAddresses", id); err != nil {
		return Address{}, err
	}
	rows, err := s.listAddresses(ctx, owner, addressFilter{id: id, free: true})
	found, err := oneOf(rows, err, "listPublicIpAddresses", id, func(a Address) string { return a.ID })
	if err == nil && found.State == AddressFree {
		return Address{}, newError(NotFound, "listPublicIpAddresses", "the address %s is free", found.IP)
	}
	return found, err
}

type addressFilter struct {
	id, zoneID, networkID, vpcID, ip string
	// free shows also addresses that are free or being allocated, which are hidden otherwise.
	free bool
}

func (s *Session) listAddresses(ctx context.Context, owner Owner, f addressFilter) ([]Address, error) {
	rows, err := readRows(ctx, s, "listPublicIpAddresses", func(a *sdk.PublicIpAddress) string { return a.Id },
		func(c *sdk.CloudStackClient, number, size int) ([]*sdk.PublicIpAddress, int, error) {
			p := c.Address.NewListPublicIpAddressesParams()
			owner.scope(p, number, size, f.id)
			f.fill(p)
			got, err := c.Address.ListPublicIpAddresses(p)
			if err != nil {
				return nil, 0, err
			}
			return got.PublicIpAddresses, got.Count, nil
		})
	if err != nil {
		return nil, err
	}
	out := make([]Address, 0, len(rows))
	for _, row := range rows {
		out = append(out, Address{
			ID: row.Id, IP: row.Ipaddress, State: AddressState(row.State), ZoneID: row.Zoneid, NetworkID: row.Associatednetworkid,
			VPCID: row.Vpcid, SourceNAT: row.Issourcenat, StaticNAT: row.Isstaticnat, Project: row.Projectid,
			DomainID: row.Domainid, Account: row.Account, Tags: tagMap(row.Tags), Job: Job(row.JobID),
		})
	}
	return out, nil
}

func (f addressFilter) fill(p *sdk.ListPublicIpAddressesParams) {
	if f.id != "" {
		p.SetId(f.id)
	}
	if f.zoneID != "" {
		p.SetZoneid(f.zoneID)
	}
	if f.networkID != "" {
		p.SetAssociatednetworkid(f.networkID)
	}
	if f.vpcID != "" {
		p.SetVpcid(f.vpcID)
	}
	if f.ip != "" {
		p.SetIpaddress(f.ip)
	}
	if f.free {
		p.SetAllocatedonly(false)
	}
}

// NewAddress is what a public address is asked for with.
type NewAddress struct {
	Owner Owner
	// NetworkID is the network to serve, or VPCID the VPC.
	NetworkID, VPCID string
	// IP asks for that address; empty takes any.
	IP string
}

// AssociateAddress begins to take a public address. The first address of an isolated network becomes its source NAT. Rules
// can be made when the job has ended. A taken or unknown IP is Capacity. After LostReply or Internal one may be taken, and
// another try without IP takes a second one.
func (s *Session) AssociateAddress(ctx context.Context, n NewAddress) (id string, job Job, err error) {
	if (n.NetworkID == "") == (n.VPCID == "") {
		return "", "", newError(Invalid, "associateIpAddress", "either a network or a VPC must be given")
	}
	got, err := invoke(ctx, s, func(c *sdk.CloudStackClient) (*sdk.AssociateIpAddressResponse, error) {
		p := c.Address.NewAssociateIpAddressParams()
		n.Owner.fill(p)
		if n.NetworkID != "" {
			p.SetNetworkid(n.NetworkID)
		} else {
			p.SetVpcid(n.VPCID)
		}
		if n.IP != "" {
			p.SetIpaddress(n.IP)
		}
		return c.Address.AssociateIpAddress(p)
	})
	if err != nil {
		return "", "", err
	}
	return begun(got.Id, got.JobID, "associateIpAddress")
}

// Lease says whose an address must be for it to be released.
type Lease struct {
	Owner     Owner
	AddressID string
	// NetworkID or VPCID is what it must serve.
	NetworkID, VPCID string
	// TagKey and TagValue are a tag that it must carry; empty when it was never tagged.
	TagKey, TagValue string
	// Unfinished allows one that is still being allocated, though no job works on it any more: it serves nothing yet.
	Unfinished bool
}

// ReleaseAddress begins to give an address back, with all rules on it. It looks first whose the address is now: NotFound
// means that it is free or another tenant's, Forbidden that it is not the one of this lease. A source NAT address of a
// network that runs is InUse.
func (s *Session) ReleaseAddress(ctx context.Context, l Lease) (Job, error) {
	if err := need("disassociateIpAddress", l.AddressID, l.NetworkID+l.VPCID); err != nil {
		return "", err
	}
	now, err := s.FindAddress(ctx, l.Owner, l.AddressID)
	if err != nil {
		return "", err
	}
	if why := l.differs(now); why != "" {
		return "", newError(Forbidden, "disassociateIpAddress", "the address %s is not released: %s", now.IP, why)
	}
	got, err := invoke(ctx, s, func(c *sdk.CloudStackClient) (*sdk.DisassociateIpAddressResponse, error) {
		return c.Address.DisassociateIpAddress(c.Address.NewDisassociateIpAddressParams(l.AddressID))
	})
	if err != nil {
		return "", err
	}
	return Job(got.JobID), nil
}

// takenBy tells what takes an address that is being allocated; empty when nothing does.
func (a Address) takenBy() string {
	if a.Job == "" {
		return ""
	}
	return "the job " + string(a.Job) + " takes it for somebody"
}

// differs tells what speaks against this being the address of the lease.
func (l Lease) differs(now Address) string {
	switch {
	case !l.Owner.has(now.Project, now.DomainID, now.Account):
		return "it belongs to another account or project"
	case l.Unfinished && now.State == AddressAllocating:
		return now.takenBy()
	case l.NetworkID != "" && now.NetworkID != "" && !equalID(now.NetworkID, l.NetworkID):
		return "it serves another network"
	case l.VPCID != "" && !equalID(now.VPCID, l.VPCID):
		return "it serves another VPC"
	case l.TagKey != "" && now.Tags[l.TagKey] != l.TagValue:
		return "it lacks our tag " + l.TagKey
	case l.TagKey == "" && l.NetworkID != "" && now.NetworkID == "" && now.VPCID == "":
		return "it serves no network"
	}
	return ""
}
