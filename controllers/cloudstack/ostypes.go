package cloudstack

import (
	"context"
	"regexp"
	"strings"
	"sync"

	sdk "github.com/apache/cloudstack-go/v2/cloudstack"
)

// OSType is a guest operating system that CloudStack knows.
type OSType struct{ ID, Description string }

// FindOSType finds an OS type by its id or by its description, which must fit exactly but for case. When several have the
// same description, which CloudStack allows, the first in the order of their ids is taken: they mean the same.
func (s *Session) FindOSType(ctx context.Context, idOrDescription string) (OSType, error) {
	if idOrDescription == "" {
		return OSType{}, newError(Invalid, "listOsTypes", "neither id nor description of the OS type is given")
	}
	types, err := recall(ctx, s.memo, "listOsTypes", discoveryAge, s.listOSTypes)
	if err != nil {
		return OSType{}, err
	}
	byID := looksLikeID(idOrDescription)
	var best OSType
	for _, t := range types {
		if (byID && strings.EqualFold(t.ID, idOrDescription)) || t.Description == idOrDescription {
			if best.ID == "" || t.ID < best.ID {
				best = t
			}
		}
	}
	if best.ID != "" {
		return best, nil
	}
	for _, t := range types {
		if strings.EqualFold(t.Description, idOrDescription) && (best.ID == "" || t.ID < best.ID) {
			best = t
		}
	}
	if best.ID == "" {
		return OSType{}, newError(NotFound, "listOsTypes", "no OS type %q; similar are: %s", idOrDescription, similar(types, idOrDescription))
	}
	return best, nil
}

func similar(types []OSType, wanted string) string {
	first, _, _ := strings.Cut(strings.ToLower(wanted), " ")
	var names []string
	for _, t := range types {
		if strings.HasPrefix(strings.ToLower(t.Description), first) {
			names = append(names, t.Description)
		}
	}
	return listNames(names)
}

func (s *Session) listOSTypes(ctx context.Context) ([]OSType, error) {
	rows, err := walk(ctx, pager[*sdk.OsType]{
		command: "listOsTypes",
		id:      func(t *sdk.OsType) string { return t.Id },
		get: func(ctx context.Context, number, size int) (page[*sdk.OsType], error) {
			got, err := invoke(ctx, s, func(c *sdk.CloudStackClient) (*sdk.ListOsTypesResponse, error) {
				p := c.GuestOS.NewListOsTypesParams()
				p.SetPage(number)
				p.SetPagesize(size)
				return c.GuestOS.ListOsTypes(p)
			})
			if err != nil {
				return page[*sdk.OsType]{}, err
			}
			return page[*sdk.OsType]{rows: got.OsTypes, count: got.Count}, nil
		},
	})
	if err != nil {
		return nil, err
	}
	types := make([]OSType, 0, len(rows))
	for _, t := range rows {
		types = append(types, OSType{ID: t.Id, Description: t.Description})
	}
	return types, nil
}

var idPattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?i)[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)
})

// looksLikeID tells whether a text has the form of a CloudStack id.
func looksLikeID(text string) bool { return idPattern().MatchString(text) }
