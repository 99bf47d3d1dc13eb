package cloudstack

import (
	"context"
	"strconv"
	"time"

	sdk "github.com/apache/cloudstack-go/v2/cloudstack"
)

// offeringAge is how old an answer about offerings and keys may be.
const offeringAge = 2 * time.Minute

// ServiceOffering is a size that machines can have.
type ServiceOffering struct {
	ID, Name string
	// CPUs, SpeedMHz and MemoryMiB are 0 where the machine says them itself.
	CPUs, SpeedMHz, MemoryMiB int64
	// Custom is set when the machine must say its CPUs and memory itself, in the details cpuNumber and memory.
	Custom bool
	// MinCPUs to MaxMemoryMiB bound what a machine may say; 0 means no bound.
	MinCPUs, MaxCPUs, MinMemoryMiB, MaxMemoryMiB int64
	// RootDiskGiB is the size that the offering gives root disks; 0 when the template decides.
	RootDiskGiB int64
	// Local is set when root disks lie on the host.
	Local                 bool
	HostTags, StorageTags []string
}

// ServiceOfferings lists all offerings that the owner may use in a zone, in the order of the server. Names need not be
// unique. The answer may be two minutes old.
func (s *Session) ServiceOfferings(ctx context.Context, owner Owner, zoneID string) ([]ServiceOffering, error) {
	if err := need("listServiceOfferings", zoneID); err != nil {
		return nil, err
	}
	key := "listServiceOfferings/" + owner.key() + "/" + zoneID
	return recall(ctx, s.memo, key, offeringAge, func(ctx context.Context) ([]ServiceOffering, error) {
		return s.listServiceOfferings(ctx, owner, zoneID)
	})
}

func (s *Session) listServiceOfferings(ctx context.Context, owner Owner, zoneID string) ([]ServiceOffering, error) {
	rows, err := readRows(ctx, s, "listServiceOfferings", func(o *sdk.ServiceOffering) string { return o.Id },
		func(c *sdk.CloudStackClient, number, size int) ([]*sdk.ServiceOffering, int, error) {
			p := c.ServiceOffering.NewListServiceOfferingsParams()
			owner.scope(p, number, size, "")
			p.SetZoneid(zoneID)
			got, err := c.ServiceOffering.ListServiceOfferings(p)
			if err != nil {
				return nil, 0, err
			}
			return got.ServiceOfferings, got.Count, nil
		})
	if err != nil {
		return nil, err
	}
	var out []ServiceOffering
	for _, row := range rows {
		if !row.Issystem && (row.State == "" || row.State == "Active") {
			out = append(out, serviceOffering(row))
		}
	}
	return out, nil
}

func serviceOffering(row *sdk.ServiceOffering) ServiceOffering {
	bound := func(key string) int64 {
		n, err := strconv.ParseInt(row.Serviceofferingdetails[key], 10, 64)
		if err != nil {
			return 0
		}
		return max(n, 0)
	}
	return ServiceOffering{
		ID: row.Id, Name: row.Name, CPUs: int64(row.Cpunumber), SpeedMHz: int64(row.Cpuspeed), MemoryMiB: int64(row.Memory),
		Custom: row.Iscustomized, MinCPUs: bound("mincpunumber"), MaxCPUs: bound("maxcpunumber"),
		MinMemoryMiB: bound("minmemory"), MaxMemoryMiB: bound("maxmemory"), RootDiskGiB: row.Rootdisksize,
		Local: row.Storagetype == "local", HostTags: splitList(row.Hosttags), StorageTags: splitList(row.Storagetags),
	}
}
