package cloudstack

import (
	"context"
	"time"

	sdk "github.com/apache/cloudstack-go/v2/cloudstack"
)

// VMState is a state of CloudStack's state machine of virtual machines.
type VMState string

// The states of virtual machines. Plain users do not see those that are Destroyed or Expunging, and nobody sees expunged ones.
const (
	// VMStopped is also how a new machine lists until the job of its deployment has come to start it.
	VMStopped   VMState = "Stopped"
	VMStarting  VMState = "Starting"
	VMRunning   VMState = "Running"
	VMStopping  VMState = "Stopping"
	VMMigrating VMState = "Migrating"
	// VMError is the end of a deployment that failed. The machine cannot be started any more.
	VMError     VMState = "Error"
	VMDestroyed VMState = "Destroyed"
	VMExpunging VMState = "Expunging"
	VMUnknown   VMState = "Unknown"
)

// Removed tells whether the machine was destroyed. It may still hold its name and its network.
func (s VMState) Removed() bool { return s == VMDestroyed || s == VMExpunging }

// VM is a virtual machine.
type VM struct {
	ID, Name, DisplayName      string
	State                      VMState
	ZoneID                     string
	Project, DomainID, Account string
	Created                    time.Time
	// Details hold the owner mark among what CloudStack adds itself.
	Details map[string]string
	Tags    map[string]string
	// NICs are in the order of the devices.
	NICs []NIC
	// Job is the job that CloudStack runs for it now; empty when none does.
	Job Job
	// TemplateID, TemplateName, OfferingID and OfferingName are what it was made of. Only FindVM tells: for many machines it is too
	// much work for the server.
	TemplateID, TemplateName, OfferingID, OfferingName string
}

// NIC is a network card of a machine.
type NIC struct {
	ID, NetworkID, NetworkName string
	MAC, IP, IP6               string
	Default                    bool
}

// Addresses are the addresses of all cards, those of the default card first.
func (v VM) Addresses() []string {
	var first, rest []string
	for _, n := range v.NICs {
		for _, ip := range []string{n.IP, n.IP6} {
			switch {
			case ip == "":
			case n.Default:
				first = append(first, ip)
			default:
				rest = append(rest, ip)
			}
		}
	}
	return append(first, rest...)
}

// vmRow is a machine on the wire. The SDK's own type fails on machines with options that CloudStack sends as objects, and
// with it the whole list.
type vmRow struct {
	ID          string            `json:"id"`
	Name        string            `json:"name"`
	DisplayName string            `json:"displayname"`
	State       string            `json:"state"`
	ZoneID      string            `json:"zoneid"`
	ProjectID   string            `json:"projectid"`
	DomainID    string            `json:"domainid"`
	Account     string            `json:"account"`
	Created     string            `json:"created"`
	JobID       string            `json:"jobid"`
	JobStatus   int               `json:"jobstatus"`
	Details     map[string]string `json:"details"`
	Tags        []sdk.Tags        `json:"tags"`
	NICs        []nicRow          `json:"nic"`

	TemplateID   string `json:"templateid"`
	TemplateName string `json:"templatename"`
	OfferingID   string `json:"serviceofferingid"`
	OfferingName string `json:"serviceofferingname"`
}

type nicRow struct {
	ID          string `json:"id"`
	NetworkID   string `json:"networkid"`
	NetworkName string `json:"networkname"`
	MAC         string `json:"macaddress"`
	IP          string `json:"ipaddress"`
	IP6         string `json:"ip6address"`
	Default     bool   `json:"isdefault"`
}

func (r *vmRow) vm() VM {
	v := VM{
		ID: r.ID, Name: r.Name, DisplayName: r.DisplayName, State: VMState(r.State), ZoneID: r.ZoneID, Project: r.ProjectID,
		DomainID: r.DomainID, Account: r.Account, Created: parseTime(r.Created), Details: r.Details, Tags: tagMap(r.Tags),
		TemplateID: r.TemplateID, TemplateName: r.TemplateName, OfferingID: r.OfferingID, OfferingName: r.OfferingName,
	}
	if r.JobStatus == 0 {
		v.Job = Job(r.JobID)
	}
	for _, n := range r.NICs {
		v.NICs = append(v.NICs, NIC(n))
	}
	return v
}

// VMsNamed lists the owner's machines of exactly that name in a zone, those in Error included, oldest first. Whose they are
// the mark in their details tells. A plain user does not see destroyed machines, which still hold their name.
func (s *Session) VMsNamed(ctx context.Context, owner Owner, zoneID, name string) ([]VM, error) {
	if err := need("listVirtualMachines", zoneID, name); err != nil {
		return nil, err
	}
	rows, err := s.listVMs(ctx, owner, map[string]string{"zoneid": zoneID, "name": name})
	if err != nil {
		return nil, err
	}
	return namedVMs(rows, zoneID, name), nil
}

func namedVMs(all []VM, zoneID, name string) []VM {
	return named(all, zoneID, name, func(v VM) naming { return naming{v.ID, v.Name, v.ZoneID, v.Created} })
}

// FindVM finds one machine by its id. NotFound means that the caller's lists do not show it: it is gone, or destroyed and
// hidden from plain users. It tells what the machine was made of, too.
func (s *Session) FindVM(ctx context.Context, owner Owner, id string) (VM, error) {
	if err := need("listVirtualMachines", id); err != nil {
		return VM{}, err
	}
	rows, err := s.listVMs(ctx, owner, map[string]string{"id": id})
	return oneOf(rows, err, "listVirtualMachines", id, func(v VM) string { return v.ID })
}

// listVMs lists the owner's machines with their cards, narrowed by filters of the API.
func (s *Session) listVMs(ctx context.Context, owner Owner, filter map[string]string) ([]VM, error) {
	rows, err := walk(ctx, pager[*vmRow]{
		command: "listVirtualMachines",
		id:      func(r *vmRow) string { return r.ID },
		get: func(ctx context.Context, number, size int) (page[*vmRow], error) {
			return invoke(ctx, s, func(c *sdk.CloudStackClient) (page[*vmRow], error) {
				p := &vmListParams{}
				owner.scope(p, number, size, filter["id"])
				for name, value := range filter {
					p.SetParam(name, value)
				}
				p.SetParam("details", vmDetails(filter))
				var got struct {
					Count int      `json:"count"`
					Rows  []*vmRow `json:"virtualmachine"`
				}
				err := custom(c).CustomRequest("listVirtualMachines", &p.CustomServiceParams, &got)
				return page[*vmRow]{rows: got.Rows, count: got.Count}, err
			})
		},
	})
	if err != nil {
		return nil, err
	}
	out := make([]VM, 0, len(rows))
	for _, row := range rows {
		v := row.vm()
		if filter["id"] != "" || owner.has(v.Project, v.DomainID, v.Account) {
			out = append(out, v)
		}
	}
	return out, nil
}

// vmDetails are the parts of machines to ask for. Without cards these are missing or the wrong ones; with more the server works much
// longer, which one machine is worth.
func vmDetails(filter map[string]string) string {
	if filter["id"] != "" {
		return "nics,tmpl,servoff"
	}
	return "nics"
}

// vmListParams gives a custom request the setters of a list.
type vmListParams struct{ sdk.CustomServiceParams }

func (p *vmListParams) SetPage(n int)          { p.SetParam("page", n) }
func (p *vmListParams) SetPagesize(n int)      { p.SetParam("pagesize", n) }
func (p *vmListParams) SetListall(all bool)    { p.SetParam("listall", all) }
func (p *vmListParams) SetProjectid(id string) { p.SetParam("projectid", id) }
func (p *vmListParams) SetAccount(name string) { p.SetParam("account", name) }
func (p *vmListParams) SetDomainid(id string)  { p.SetParam("domainid", id) }
