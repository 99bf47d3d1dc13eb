package cloudstack

import (
	"context"

	sdk "github.com/apache/cloudstack-go/v2/cloudstack"
)

// Volume is a disk.
type Volume struct {
	ID, Name, State string
	// Root is set for the disk that a machine boots from.
	Root                     bool
	OfferingID, OfferingName string
	SizeBytes                int64
	VMID                     string
	Tags                     map[string]string
}

// Removed tells whether the disk is on its way out, as those of a machine in Error are.
func (v Volume) Removed() bool {
	return v.State == "Destroy" || v.State == "Expunging" || v.State == "Expunged"
}

// VolumesOf lists the disks that a machine has now.
func (s *Session) VolumesOf(ctx context.Context, owner Owner, vmID string) ([]Volume, error) {
	if err := need("listVolumes", vmID); err != nil {
		return nil, err
	}
	rows, err := readRows(ctx, s, "listVolumes", func(v *sdk.Volume) string { return v.Id },
		func(c *sdk.CloudStackClient, number, size int) ([]*sdk.Volume, int, error) {
			p := c.Volume.NewListVolumesParams()
			owner.scope(p, number, size, vmID)
			p.SetVirtualmachineid(vmID)
			got, err := c.Volume.ListVolumes(p)
			if err != nil {
				return nil, 0, err
			}
			return got.Volumes, got.Count, nil
		})
	if err != nil {
		return nil, err
	}
	var out []Volume
	for _, row := range rows {
		if equalID(row.Virtualmachineid, vmID) {
			out = append(out, Volume{
				ID: row.Id, Name: row.Name, State: row.State, Root: row.Type == "ROOT", OfferingID: row.Diskofferingid, OfferingName: row.Diskofferingname,
				SizeBytes: row.Size, VMID: row.Virtualmachineid, Tags: tagMap(row.Tags),
			})
		}
	}
	return out, nil
}
