package cloudstack

import (
	"context"
	"encoding/base64"

	sdk "github.com/apache/cloudstack-go/v2/cloudstack"
)

// NewVM is what a machine is deployed with.
type NewVM struct {
	Owner Owner
	// Name is the host name: an RFC 1123 label of at most 63 characters that does not begin with a digit.
	Name, DisplayName              string
	ZoneID, OfferingID, TemplateID string
	// Networks in the order of the cards; the first is the default one.
	Networks []VMNetwork
	// RootDiskGiB is at least the size of the template; 0 takes that size.
	RootDiskGiB int64
	// DiskOfferingID adds a data disk. DiskGiB is its size where the offering is custom, else 0.
	DiskOfferingID string
	DiskGiB        int64
	// UserData is what the guest shall read, before base64.
	UserData         []byte
	SSHKey           string
	AffinityGroupIDs []string
	// Details carry the owner mark. An empty value is not kept.
	Details map[string]string
	// Stopped leaves the machine stopped.
	Stopped bool
}

// VMNetwork is a card that a machine shall have.
type VMNetwork struct {
	ID string
	// IP asks for an address; empty takes a free one.
	IP string
}

// DeployVM begins to make a machine. The machine is listed at once, in the state Stopped.
//
// After LostReply or Internal it may exist or come into being, also in the state Error without a card: look for the name
// before the next try. Conflict means that the name is taken in one of the networks, perhaps by a machine that is destroyed
// and not seen. Over a limit, Quota comes first. Too long user data is Invalid; UserDataLimit tells how much is allowed.
func (s *Session) DeployVM(ctx context.Context, n NewVM) (id string, job Job, err error) {
	if err := need("deployVirtualMachine", n.Name, n.ZoneID, n.OfferingID, n.TemplateID); err != nil {
		return "", "", err
	}
	got, err := invoke(ctx, s, func(c *sdk.CloudStackClient) (*sdk.DeployVirtualMachineResponse, error) {
		p := c.VirtualMachine.NewDeployVirtualMachineParams(n.OfferingID, n.TemplateID, n.ZoneID)
		n.fill(p)
		return c.VirtualMachine.DeployVirtualMachine(p)
	})
	s.vms.attempted(n.Owner, n.ZoneID, n.Name)
	if err != nil {
		return "", "", err
	}
	return begun(got.Id, got.JobID, "deployVirtualMachine")
}

func (n NewVM) fill(p *sdk.DeployVirtualMachineParams) {
	n.Owner.fill(p)
	p.SetName(n.Name)
	if n.DisplayName != "" {
		p.SetDisplayname(n.DisplayName)
	}
	n.fillNetworks(p)
	if n.RootDiskGiB > 0 {
		p.SetRootdisksize(n.RootDiskGiB)
	}
	if n.DiskOfferingID != "" {
		p.SetDiskofferingid(n.DiskOfferingID)
		if n.DiskGiB > 0 {
			p.SetSize(n.DiskGiB)
		}
	}
	if len(n.UserData) > 0 {
		p.SetUserdata(base64.StdEncoding.EncodeToString(n.UserData))
	}
	if n.SSHKey != "" {
		p.SetKeypair(n.SSHKey)
	}
	if len(n.AffinityGroupIDs) > 0 {
		p.SetAffinitygroupids(n.AffinityGroupIDs)
	}
	if len(n.Details) > 0 {
		p.SetDetails(n.Details)
	}
	p.SetStartvm(!n.Stopped)
}

// fillNetworks uses the plain form where no address is asked for: the two forms exclude each other.
func (n NewVM) fillNetworks(p *sdk.DeployVirtualMachineParams) {
	var ids []string
	var rows []map[string]string
	asked := false
	for _, network := range n.Networks {
		ids = append(ids, network.ID)
		row := map[string]string{"networkid": network.ID}
		if network.IP != "" {
			asked, row["ip"] = true, network.IP
		}
		rows = append(rows, row)
	}
	switch {
	case asked:
		p.SetIptonetworklist(rows)
	case len(ids) > 0:
		p.SetNetworkids(ids)
	}
}
