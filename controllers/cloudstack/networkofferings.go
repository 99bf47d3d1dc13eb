package cloudstack

import (
	"context"
	"slices"

	sdk "github.com/apache/cloudstack-go/v2/cloudstack"
)

// NetworkOffering is a kind of network.
type NetworkOffering struct {
	ID, Name string
	// GuestType is Isolated, Shared or L2.
	GuestType string
	ForVPC    bool
	// EgressAllowed is set when networks let traffic out without a rule.
	EgressAllowed bool
	// NeedsVLAN is set when only administrators can make networks of it.
	NeedsVLAN bool
	// Services are names as CloudStack spells them: Lb, Firewall, SourceNat, UserData, ...
	Services []string
}

// NetworkOfferings lists the enabled network offerings of a zone. The answer may be two minutes old.
func (s *Session) NetworkOfferings(ctx context.Context, zoneID string) ([]NetworkOffering, error) {
	if err := need("listNetworkOfferings", zoneID); err != nil {
		return nil, err
	}
	key := "listNetworkOfferings/" + zoneID
	return recall(ctx, s.memo, key, offeringAge, func(ctx context.Context) ([]NetworkOffering, error) {
		rows, err := readRows(ctx, s, "listNetworkOfferings", func(o *sdk.NetworkOffering) string { return o.Id },
			func(c *sdk.CloudStackClient, number, size int) ([]*sdk.NetworkOffering, int, error) {
				p := c.NetworkOffering.NewListNetworkOfferingsParams()
				p.SetPage(number)
				p.SetPagesize(size)
				p.SetZoneid(zoneID)
				p.SetState("Enabled")
				got, err := c.NetworkOffering.ListNetworkOfferings(p)
				if err != nil {
					return nil, 0, err
				}
				return got.NetworkOfferings, got.Count, nil
			})
		if err != nil {
			return nil, err
		}
		out := make([]NetworkOffering, 0, len(rows))
		for _, row := range rows {
			out = append(out, networkOffering(row))
		}
		return out, nil
	})
}

func networkOffering(row *sdk.NetworkOffering) NetworkOffering {
	o := NetworkOffering{
		ID: row.Id, Name: row.Name, GuestType: row.Guestiptype, ForVPC: row.Forvpc,
		EgressAllowed: row.Egressdefaultpolicy, NeedsVLAN: row.Specifyvlan,
	}
	for _, service := range row.Service {
		o.Services = append(o.Services, service.Name)
	}
	slices.Sort(o.Services)
	return o
}
