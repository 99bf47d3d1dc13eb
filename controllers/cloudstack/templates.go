package cloudstack

import (
	"context"
	"maps"
	"strings"
	"time"

	sdk "github.com/apache/cloudstack-go/v2/cloudstack"
)

// Template is one template in one zone: CloudStack shows one row for each zone a template is in.
type Template struct {
	ID, Name      string
	ZoneID        string
	Hypervisor    string
	Format        string
	Arch          string // such as x86_64; empty before 4.20
	Ready         bool
	State         TemplateState
	CrossZones    bool
	Project       string
	DomainID      string
	Account       string
	Created       time.Time
	Details       map[string]string
	Tags          map[string]string
	Checksum      string
	SizeBytes     int64 // size of the disk that the guest sees; 0 or less when unknown
	PhysicalBytes int64 // bytes on the secondary storage
}

// TemplateQuery narrows a listing. ZoneID must be given.
type TemplateQuery struct {
	Owner  Owner
	ZoneID string
	// Name, if given, is compared exactly, by the server and again here.
	Name string
}

// Templates lists the owner's templates in a zone, those that are not ready or failed included, in the order of their
// creation. The list is complete, and was asked for after the call.
func (s *Session) Templates(ctx context.Context, q TemplateQuery) ([]Template, error) {
	if q.ZoneID == "" {
		return nil, newError(Invalid, "listTemplates", "the id of the zone is empty")
	}
	rows, err := s.listTemplates(ctx, q, "", "self")
	if err != nil {
		return nil, err
	}
	var out []Template
	for _, t := range rows {
		if t.ZoneID == q.ZoneID && (q.Name == "" || t.Name == q.Name) && ownedBy(t, q.Owner) {
			out = append(out, t)
		}
	}
	sortByAge(out)
	return out, nil
}

// RecentTemplates is Templates without a name, answered from one listing that all who ask within maxAge share. It may lack
// the latest templates; it shows none whose deletion the session has seen end.
func (s *Session) RecentTemplates(ctx context.Context, owner Owner, zoneID string, maxAge time.Duration) ([]Template, error) {
	key := "listTemplates/" + owner.key() + "/" + zoneID
	return recall(ctx, s.memo, key, maxAge, func(ctx context.Context) ([]Template, error) {
		return s.Templates(ctx, TemplateQuery{Owner: owner, ZoneID: zoneID})
	})
}

// FindTemplate finds one template of that id in the zone, whoever owns it as long as the caller may see it.
func (s *Session) FindTemplate(ctx context.Context, owner Owner, zoneID, id string) (Template, error) {
	if zoneID == "" || id == "" {
		return Template{}, newError(Invalid, "listTemplates", "the id of the zone or of the template is empty")
	}
	for _, filter := range []string{"self", "executable"} {
		rows, err := s.listTemplates(ctx, TemplateQuery{Owner: owner, ZoneID: zoneID}, id, filter)
		if Is(err, NotFound) || (Is(err, Forbidden) && filter == "self") {
			continue
		}
		if err != nil {
			return Template{}, err
		}
		for _, t := range rows {
			if strings.EqualFold(t.ID, id) && t.ZoneID == zoneID {
				return t, nil
			}
		}
	}
	s.forgetTemplates(owner, zoneID)
	return Template{}, newError(NotFound, "listTemplates", "no template %s is seen in the zone", id)
}

func ownedBy(t Template, o Owner) bool {
	switch {
	case o.ProjectID != "":
		return strings.EqualFold(t.Project, o.ProjectID)
	case o.Account != "":
		return t.Account == o.Account && strings.EqualFold(t.DomainID, o.DomainID)
	}
	return t.Project == ""
}

// listTemplates lists by id if there is one, as far as the filter shows templates. "self" shows the owner's own with all
// their states, "executable" what may be deployed.
func (s *Session) listTemplates(ctx context.Context, q TemplateQuery, id, filter string) ([]Template, error) {
	rows, err := walk(ctx, pager[*sdk.Template]{
		command: "listTemplates",
		id:      func(t *sdk.Template) string { return t.Id + "/" + t.Zoneid },
		get: func(ctx context.Context, number, size int) (page[*sdk.Template], error) {
			got, err := invoke(ctx, s, func(c *sdk.CloudStackClient) (*sdk.ListTemplatesResponse, error) {
				p := c.Template.NewListTemplatesParams(filter)
				p.SetPage(number)
				p.SetPagesize(size)
				p.SetZoneid(q.ZoneID)
				narrow(p, q, id)
				return c.Template.ListTemplates(p)
			})
			if err != nil {
				return page[*sdk.Template]{}, err
			}
			return page[*sdk.Template]{rows: got.Templates, count: got.Count}, nil
		},
	})
	if err != nil {
		return nil, err
	}
	out := make([]Template, 0, len(rows))
	for _, row := range rows {
		out = append(out, s.template(row))
	}
	return out, nil
}

func narrow(p *sdk.ListTemplatesParams, q TemplateQuery, id string) {
	if id != "" {
		p.SetId(id)
	}
	if q.Name != "" {
		p.SetName(q.Name)
	}
	switch {
	case q.Owner.ProjectID != "":
		p.SetProjectid(q.Owner.ProjectID)
	case q.Owner.Account != "" && id == "":
		p.SetAccount(q.Owner.Account)
		p.SetDomainid(q.Owner.DomainID)
	}
}

func (s *Session) template(row *sdk.Template) Template {
	t := Template{
		ID: row.Id, Name: row.Name, ZoneID: row.Zoneid, Hypervisor: row.Hypervisor, Format: row.Format, Arch: row.Arch, Ready: row.Isready,
		CrossZones: row.CrossZones, Project: row.Projectid, DomainID: row.Domainid, Account: row.Account,
		Details: maps.Clone(row.Details), Tags: map[string]string{}, Checksum: row.Checksum,
		SizeBytes: row.Size, PhysicalBytes: row.Physicalsize,
	}
	t.Created, _ = time.Parse("2006-01-02T15:04:05-0700", row.Created)
	for _, tag := range row.Tags {
		t.Tags[tag.Key] = tag.Value
	}
	var states []string
	for _, d := range row.Downloaddetails {
		states = append(states, d["downloadState"])
	}
	t.State = templateState(row.Isready, row.Status, states)
	t.State.Message = s.redact.text(t.State.Message)
	return t
}
