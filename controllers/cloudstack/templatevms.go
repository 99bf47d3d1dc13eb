package cloudstack

import (
	"context"

	sdk "github.com/apache/cloudstack-go/v2/cloudstack"
)

// VMsOfTemplate lists the virtual machines made from a template that the caller sees. Others may exist: CloudStack itself
// refuses to delete a template that anybody uses.
func (s *Session) VMsOfTemplate(ctx context.Context, owner Owner, zoneID, templateID string) ([]VM, error) {
	if templateID == "" || zoneID == "" {
		return nil, newError(Invalid, "listVirtualMachines", "the id of the template or of the zone is empty")
	}
	rows, err := walk(ctx, pager[*sdk.VirtualMachine]{
		command: "listVirtualMachines",
		id:      func(v *sdk.VirtualMachine) string { return v.Id },
		get: func(ctx context.Context, number, size int) (page[*sdk.VirtualMachine], error) {
			got, err := invoke(ctx, s, func(c *sdk.CloudStackClient) (*sdk.ListVirtualMachinesResponse, error) {
				p := c.VirtualMachine.NewListVirtualMachinesParams()
				p.SetPage(number)
				p.SetPagesize(size)
				p.SetTemplateid(templateID)
				p.SetZoneid(zoneID)
				p.SetDetails([]string{"min"})
				p.SetListall(true)
				if owner.ProjectID != "" {
					p.SetProjectid(owner.ProjectID)
				}
				return c.VirtualMachine.ListVirtualMachines(p)
			})
			if err != nil {
				return page[*sdk.VirtualMachine]{}, err
			}
			return page[*sdk.VirtualMachine]{rows: got.VirtualMachines, count: got.Count}, nil
		},
	})
	if Is(err, NotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	out := make([]VM, 0, len(rows))
	for _, row := range rows {
		out = append(out, VM{ID: row.Id, Name: row.Name, State: VMState(row.State)})
	}
	return out, nil
}
