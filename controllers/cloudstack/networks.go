package cloudstack

import (
	"context"
	"slices"
	"time"

	sdk "github.com/apache/cloudstack-go/v2/cloudstack"
)

// NetworkState is a state of a network. Isolated networks go back to Allocated some time after their last machine stopped,
// which changes nothing for rules and addresses.
type NetworkState string

// The states of networks.
const (
	NetworkAllocated    NetworkState = "Allocated"
	NetworkImplementing NetworkState = "Implementing"
	NetworkImplemented  NetworkState = "Implemented"
	NetworkSetup        NetworkState = "Setup"
)

// Network is a guest network.
type Network struct {
	ID, Name, DisplayText string
	// Type is Isolated, Shared or L2.
	Type                   string
	State                  NetworkState
	ZoneID, OfferingID     string
	CIDR, Gateway, Netmask string
	// VPCID is that of the VPC whose tier the network is, and ACLID that of the list of rules for who may go in and out of
	// it; both are empty for other networks.
	VPCID, ACLID string
	// EgressAllowed is set when traffic gets out without a rule.
	EgressAllowed bool
	// Routed is set when the network routes instead of translating addresses; CloudStack before 4.20 does not tell.
	Routed bool
	// Services are names as CloudStack spells them: Lb, Firewall, NetworkACL, SourceNat, UserData, ...
	Services                   []string
	Project, DomainID, Account string
	Created                    time.Time
	Tags                       map[string]string
}

// Offers tells whether the network has a service.
func (n Network) Offers(service string) bool { return slices.Contains(n.Services, service) }

// NetworksNamed lists the networks of exactly that name in a zone that the owner may use, shared ones included, oldest
// first. Names need not be unique.
func (s *Session) NetworksNamed(ctx context.Context, owner Owner, zoneID, name string) ([]Network, error) {
	if err := need("listNetworks", zoneID, name); err != nil {
		return nil, err
	}
	// The filter by name is unknown to servers before 4.22, which then list everything.
	all, err := s.networks(ctx, owner, networkFilter{zoneID: zoneID, keyword: name})
	if err != nil {
		return nil, err
	}
	return named(all, zoneID, name, func(n Network) naming { return naming{n.ID, n.Name, n.ZoneID, n.Created} }), nil
}

// FindNetwork finds a network by its id.
func (s *Session) FindNetwork(ctx context.Context, owner Owner, id string) (Network, error) {
	if err := need("listNetworks", id); err != nil {
		return Network{}, err
	}
	rows, err := s.networks(ctx, owner, networkFilter{id: id})
	return oneOf(rows, err, "listNetworks", id, func(n Network) string { return n.ID })
}

type networkFilter struct{ id, zoneID, keyword string }

// networks lists what the owner has and may use. Shared networks of the domain are not listed with a project.
func (s *Session) networks(ctx context.Context, owner Owner, f networkFilter) ([]Network, error) {
	rows, err := s.listNetworks(ctx, owner, f)
	if err != nil || owner.ProjectID == "" || len(rows) > 0 {
		return rows, err
	}
	all, err := s.listNetworks(ctx, Owner{}, f)
	return slices.DeleteFunc(all, func(n Network) bool { return n.Type != "Shared" }), err
}

func (s *Session) listNetworks(ctx context.Context, owner Owner, f networkFilter) ([]Network, error) {
	rows, err := readRows(ctx, s, "listNetworks", func(n *sdk.Network) string { return n.Id },
		func(c *sdk.CloudStackClient, number, size int) ([]*sdk.Network, int, error) {
			p := c.Network.NewListNetworksParams()
			owner.scope(p, number, size, f.id)
			if f.id != "" {
				p.SetId(f.id)
			}
			if f.zoneID != "" {
				p.SetZoneid(f.zoneID)
			}
			if f.keyword != "" {
				p.SetKeyword(f.keyword)
			}
			got, err := c.Network.ListNetworks(p)
			if err != nil {
				return nil, 0, err
			}
			return got.Networks, got.Count, nil
		})
	if err != nil {
		return nil, err
	}
	out := make([]Network, 0, len(rows))
	for _, row := range rows {
		out = append(out, network(row))
	}
	return out, nil
}

func network(row *sdk.Network) Network {
	n := Network{
		ID: row.Id, Name: row.Name, DisplayText: row.Displaytext, Type: row.Type, State: NetworkState(row.State),
		ZoneID: row.Zoneid, OfferingID: row.Networkofferingid, CIDR: row.Cidr, Gateway: row.Gateway, Netmask: row.Netmask,
		VPCID: row.Vpcid, ACLID: row.Aclid, EgressAllowed: row.Egressdefaultpolicy, Routed: row.Ip4routing != "", Project: row.Projectid, DomainID: row.Domainid,
		Account: row.Account, Created: parseTime(row.Created), Tags: tagMap(row.Tags),
	}
	for _, service := range row.Service {
		n.Services = append(n.Services, service.Name)
	}
	slices.Sort(n.Services)
	return n
}

// NewNetwork is what a network is made with.
type NewNetwork struct {
	Owner Owner
	Name  string
	// DisplayText has room for an owner mark inside the call; at most 255 characters.
	DisplayText        string
	ZoneID, OfferingID string
	// Gateway and Netmask go together; without them CloudStack takes 10.1.1.0/24.
	Gateway, Netmask string
	// VPCID makes the network a tier of that VPC; Gateway and Netmask are needed then. ACLID is its ACL list; without one the
	// server decides.
	VPCID, ACLID string
}

// CreateNetwork makes a network at once: there is no job. Neither names nor addresses need be unique: after LostReply or
// Internal it may exist, and another try makes a second one.
func (s *Session) CreateNetwork(ctx context.Context, n NewNetwork) (id string, err error) {
	if err := need("createNetwork", n.Name, n.ZoneID, n.OfferingID); err != nil {
		return "", err
	}
	if (n.Gateway == "") != (n.Netmask == "") {
		return "", newError(Invalid, "createNetwork", "gateway and netmask go together; CloudStack ignores one alone")
	}
	got, err := invoke(ctx, s, func(c *sdk.CloudStackClient) (*sdk.CreateNetworkResponse, error) {
		p := c.Network.NewCreateNetworkParams(n.Name, n.OfferingID, n.ZoneID)
		n.Owner.fill(p)
		if n.DisplayText != "" {
			p.SetDisplaytext(n.DisplayText)
		}
		if n.Gateway != "" {
			p.SetGateway(n.Gateway)
			p.SetNetmask(n.Netmask)
		}
		if n.VPCID != "" {
			p.SetVpcid(n.VPCID)
		}
		if n.ACLID != "" {
			p.SetAclid(n.ACLID)
		}
		return c.Network.CreateNetwork(p)
	})
	if err != nil {
		return "", err
	}
	id, _, err = begun(got.Id, "", "createNetwork")
	return id, err
}

// DeleteNetwork begins to delete a network with its rules and addresses, never by force. NotFound means that it is gone.
// While a machine is in it, a destroyed one that nobody sees included, the job fails with InUse. Begin it only when no
// other job of ours on the network is open: CloudStack does not order them. What the list shows decides, not the job.
func (s *Session) DeleteNetwork(ctx context.Context, id string) (Job, error) {
	if err := need("deleteNetwork", id); err != nil {
		return "", err
	}
	got, err := invoke(ctx, s, func(c *sdk.CloudStackClient) (*sdk.DeleteNetworkResponse, error) {
		return c.Network.DeleteNetwork(c.Network.NewDeleteNetworkParams(id))
	})
	if err != nil {
		return "", err
	}
	return Job(got.JobID), nil
}
