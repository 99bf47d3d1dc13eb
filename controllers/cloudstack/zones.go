package cloudstack

import (
	"context"
	"slices"
	"strings"
	"time"

	sdk "github.com/apache/cloudstack-go/v2/cloudstack"
)

// discoveryAge is how old an answer about zones, hypervisors or OS types may be. Many images ask the same at once.
const discoveryAge = 30 * time.Second

// Zone is a zone that the caller sees.
type Zone struct {
	ID, Name string
	// Enabled is false when the zone takes no new work.
	Enabled bool
}

// Zones lists the zones that the caller sees. A plain user does not see disabled ones here.
func (s *Session) Zones(ctx context.Context) ([]Zone, error) {
	return recall(ctx, s.memo, "listZones", discoveryAge, func(ctx context.Context) ([]Zone, error) {
		return s.listZones(ctx, "")
	})
}

// FindZone finds the zone of that id, or the only one of that name; ask with one of the two. Disabled zones are found by id.
func (s *Session) FindZone(ctx context.Context, id, name string) (Zone, error) {
	if id == "" && name == "" {
		return Zone{}, newError(Invalid, "listZones", "neither id nor name of the zone is given")
	}
	if id != "" {
		zones, err := recall(ctx, s.memo, "listZones/"+id, discoveryAge, func(ctx context.Context) ([]Zone, error) {
			return s.listZones(ctx, id)
		})
		if err != nil && !Is(err, NotFound) {
			return Zone{}, err
		}
		if len(zones) != 1 || !strings.EqualFold(zones[0].ID, id) {
			return Zone{}, newError(NotFound, "listZones", "no zone with the id %s is seen", id)
		}
		return zones[0], nil
	}
	zones, err := s.Zones(ctx)
	if err != nil {
		return Zone{}, err
	}
	return zoneNamed(zones, name)
}

func zoneNamed(zones []Zone, name string) (Zone, error) {
	var found []Zone
	var names []string
	for _, z := range zones {
		names = append(names, z.Name)
		if z.Name == name {
			found = append(found, z)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		slices.Sort(names)
		return Zone{}, newError(NotFound, "listZones", "no zone named %s is seen, and a disabled one is shown to administrators only; seen are: %s", name, listNames(names))
	}
	return Zone{}, newError(Ambiguous, "listZones", "%d zones are named %s; give the id", len(found), name)
}

// listNames joins at most ten names for a message.
func listNames(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	if len(names) > 10 {
		return strings.Join(names[:10], ", ") + ", ..."
	}
	return strings.Join(names, ", ")
}

func (s *Session) listZones(ctx context.Context, id string) ([]Zone, error) {
	rows, err := walk(ctx, pager[*sdk.Zone]{
		command: "listZones",
		id:      func(z *sdk.Zone) string { return z.Id },
		get: func(ctx context.Context, number, size int) (page[*sdk.Zone], error) {
			got, err := invoke(ctx, s, func(c *sdk.CloudStackClient) (*sdk.ListZonesResponse, error) {
				p := c.Zone.NewListZonesParams()
				p.SetPage(number)
				p.SetPagesize(size)
				if id != "" {
					p.SetId(id)
				}
				return c.Zone.ListZones(p)
			})
			if err != nil {
				return page[*sdk.Zone]{}, err
			}
			return page[*sdk.Zone]{rows: got.Zones, count: got.Count}, nil
		},
	})
	if err != nil {
		return nil, err
	}
	zones := make([]Zone, 0, len(rows))
	for _, z := range rows {
		zones = append(zones, Zone{ID: z.Id, Name: z.Name, Enabled: z.Allocationstate != "Disabled"})
	}
	return zones, nil
}

// HypervisorsIn lists the hypervisors that hosts of the zone have, in CloudStack's spelling.
func (s *Session) HypervisorsIn(ctx context.Context, zoneID string) ([]string, error) {
	if zoneID == "" {
		return nil, newError(Invalid, "listHypervisors", "the id of the zone is empty")
	}
	return recall(ctx, s.memo, "listHypervisors/"+zoneID, discoveryAge, func(ctx context.Context) ([]string, error) {
		got, err := invoke(ctx, s, func(c *sdk.CloudStackClient) (*sdk.ListHypervisorsResponse, error) {
			p := c.Hypervisor.NewListHypervisorsParams()
			p.SetZoneid(zoneID)
			return c.Hypervisor.ListHypervisors(p)
		})
		if err != nil {
			return nil, err
		}
		var names []string
		for _, h := range got.Hypervisors {
			names = append(names, h.Name)
		}
		slices.Sort(names)
		return slices.Compact(names), nil
	})
}
