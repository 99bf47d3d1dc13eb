package cloudstack

import (
	"context"
	"strings"

	sdk "github.com/apache/cloudstack-go/v2/cloudstack"
)

// Owner says whose resources are meant: a project, an account of a domain, or with the zero value the caller's own account.
type Owner struct {
	ProjectID         string
	DomainID, Account string
}

// key tells owners apart in caches.
func (o Owner) key() string { return o.ProjectID + "/" + o.DomainID + "/" + o.Account }

// OwnerName is how a person names an owner: a project by name or id, or an account with the path or id of its domain.
type OwnerName struct {
	Project string
	// Domain may be empty when the caller sees only one account of the name.
	Domain, Account string
}

// FindOwner turns names into ids. The zero name is the caller's own account and costs no call.
func (s *Session) FindOwner(ctx context.Context, name OwnerName) (Owner, error) {
	switch {
	case name == OwnerName{}:
		return Owner{}, nil
	case name.Project != "":
		id, err := recall(ctx, s.memo, "listProjects/"+name.Project, discoveryAge, func(ctx context.Context) (string, error) {
			return s.findProject(ctx, name.Project)
		})
		return Owner{ProjectID: id}, err
	case name.Account == "":
		return Owner{}, newError(Invalid, "listAccounts", "a domain needs its account")
	}
	key := "listAccounts/" + name.Domain + "/" + name.Account
	return recall(ctx, s.memo, key, discoveryAge, func(ctx context.Context) (Owner, error) {
		return s.findAccount(ctx, name.Domain, name.Account)
	})
}

func (s *Session) findProject(ctx context.Context, nameOrID string) (string, error) {
	rows, err := s.listProjects(ctx, nameOrID)
	if err != nil {
		return "", err
	}
	var found []*sdk.Project
	for _, p := range rows {
		if strings.EqualFold(p.Id, nameOrID) {
			found = []*sdk.Project{p}
			break
		}
		if p.Name == nameOrID {
			found = append(found, p)
		}
	}
	switch {
	case len(found) == 0:
		return "", newError(NotFound, "listProjects", "no project %q is seen", nameOrID)
	case len(found) > 1:
		return "", newError(Ambiguous, "listProjects", "%d projects are named %q; give the id", len(found), nameOrID)
	case found[0].State != "" && found[0].State != "Active":
		return "", newError(Forbidden, "listProjects", "the project %q is %s", nameOrID, found[0].State)
	}
	return found[0].Id, nil
}

func (s *Session) listProjects(ctx context.Context, nameOrID string) ([]*sdk.Project, error) {
	rows, err := walk(ctx, pager[*sdk.Project]{
		command: "listProjects",
		id:      func(p *sdk.Project) string { return p.Id },
		get: func(ctx context.Context, number, size int) (page[*sdk.Project], error) {
			got, err := invoke(ctx, s, func(c *sdk.CloudStackClient) (*sdk.ListProjectsResponse, error) {
				p := c.Project.NewListProjectsParams()
				p.SetPage(number)
				p.SetPagesize(size)
				p.SetListall(true)
				if looksLikeID(nameOrID) {
					p.SetId(nameOrID)
				} else {
					p.SetName(nameOrID)
				}
				return c.Project.ListProjects(p)
			})
			if err != nil {
				return page[*sdk.Project]{}, err
			}
			return page[*sdk.Project]{rows: got.Projects, count: got.Count}, nil
		},
	})
	if Is(err, NotFound) {
		return nil, nil
	}
	return rows, err
}

// findAccount asks for accounts only: plain users may not list domains, and an account names its domain.
func (s *Session) findAccount(ctx context.Context, domain, account string) (Owner, error) {
	rows, err := walk(ctx, pager[*sdk.Account]{
		command: "listAccounts",
		id:      func(a *sdk.Account) string { return a.Id },
		get: func(ctx context.Context, number, size int) (page[*sdk.Account], error) {
			got, err := invoke(ctx, s, func(c *sdk.CloudStackClient) (*sdk.ListAccountsResponse, error) {
				p := c.Account.NewListAccountsParams()
				p.SetPage(number)
				p.SetPagesize(size)
				p.SetListall(true)
				p.SetName(account)
				return c.Account.ListAccounts(p)
			})
			if err != nil {
				return page[*sdk.Account]{}, err
			}
			return page[*sdk.Account]{rows: got.Accounts, count: got.Count}, nil
		},
	})
	if err != nil {
		return Owner{}, err
	}
	var found []Owner
	var domains []string
	for _, a := range rows {
		if a.Name == account && (domain == "" || sameDomain(domain, a.Domainid, a.Domainpath)) {
			found, domains = append(found, Owner{DomainID: a.Domainid, Account: a.Name}), append(domains, a.Domainpath)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return Owner{}, newError(Ambiguous, "listAccounts", "accounts %q are seen in the domains %s; give the domain", account, listNames(domains))
	case domain == "":
		return Owner{}, newError(NotFound, "listAccounts", "no account %q is seen", account)
	}
	return Owner{}, newError(NotFound, "listAccounts", "no account %q of domain %q is seen", account, domain)
}

// sameDomain compares an id, or a path with or without ROOT and slashes around it.
func sameDomain(wanted, id, path string) bool {
	if strings.EqualFold(wanted, id) {
		return true
	}
	return strings.EqualFold(domainPath(wanted), domainPath(path))
}

func domainPath(path string) string {
	path = strings.Trim(path, "/")
	if strings.EqualFold(path, "ROOT") || path == "" {
		return "ROOT"
	}
	if len(path) > 5 && strings.EqualFold(path[:5], "ROOT/") {
		path = path[5:]
	}
	return "ROOT/" + path
}
