package cloudstack

import "context"

// DeployableTemplates lists the templates of exactly that name in a zone that the owner may deploy, those of others included,
// in the order of their creation.
func (s *Session) DeployableTemplates(ctx context.Context, owner Owner, zoneID, name string) ([]Template, error) {
	if err := need("listTemplates", zoneID, name); err != nil {
		return nil, err
	}
	rows, err := s.listTemplates(ctx, TemplateQuery{Owner: owner, ZoneID: zoneID, Name: name}, "", "executable")
	if err != nil {
		return nil, err
	}
	var out []Template
	for _, t := range rows {
		if t.ZoneID == zoneID && t.Name == name {
			out = append(out, t)
		}
	}
	sortByAge(out)
	return out, nil
}
