package cloudstack

import (
	"context"

	sdk "github.com/apache/cloudstack-go/v2/cloudstack"
)

// DiskOffering is a kind of data disk.
type DiskOffering struct {
	ID, Name string
	// SizeGiB is 0 when Custom is set: then whoever makes a disk says its size.
	SizeGiB int64
	Custom  bool
}

// DiskOfferings lists all disk offerings that the owner may use in a zone. Names need not be unique. The answer may be two
// minutes old.
func (s *Session) DiskOfferings(ctx context.Context, owner Owner, zoneID string) ([]DiskOffering, error) {
	if err := need("listDiskOfferings", zoneID); err != nil {
		return nil, err
	}
	key := "listDiskOfferings/" + owner.key() + "/" + zoneID
	return recall(ctx, s.memo, key, offeringAge, func(ctx context.Context) ([]DiskOffering, error) {
		rows, err := readRows(ctx, s, "listDiskOfferings", func(o *sdk.DiskOffering) string { return o.Id },
			func(c *sdk.CloudStackClient, number, size int) ([]*sdk.DiskOffering, int, error) {
				p := c.DiskOffering.NewListDiskOfferingsParams()
				owner.scope(p, number, size, "")
				p.SetZoneid(zoneID)
				got, err := c.DiskOffering.ListDiskOfferings(p)
				if err != nil {
					return nil, 0, err
				}
				return got.DiskOfferings, got.Count, nil
			})
		if err != nil {
			return nil, err
		}
		out := make([]DiskOffering, 0, len(rows))
		for _, row := range rows {
			out = append(out, DiskOffering{ID: row.Id, Name: row.Name, SizeGiB: row.Disksize, Custom: row.Iscustomized})
		}
		return out, nil
	})
}
