package cloudstack

import (
	"context"
	"strings"
	"time"

	sdk "github.com/apache/cloudstack-go/v2/cloudstack"
)

// readRows walks a whole list through one verb of the SDK. get returns the rows of a page and the number of all rows.
func readRows[T any](ctx context.Context, s *Session, command string, id func(T) string,
	get func(c *sdk.CloudStackClient, number, size int) ([]T, int, error),
) ([]T, error) {
	return walk(ctx, pager[T]{
		command: command,
		id:      id,
		get: func(ctx context.Context, number, size int) (page[T], error) {
			return invoke(ctx, s, func(c *sdk.CloudStackClient) (page[T], error) {
				rows, count, err := get(c, number, size)
				return page[T]{rows: rows, count: count}, err
			})
		},
	})
}

// ownerParams is what the parameters of calls on behalf of an owner have in common.
type ownerParams interface {
	SetProjectid(string)
	SetAccount(string)
	SetDomainid(string)
}

// fill names the owner in a call. The caller's own account needs no naming.
func (o Owner) fill(p ownerParams) {
	switch {
	case o.ProjectID != "":
		p.SetProjectid(o.ProjectID)
	case o.Account != "":
		p.SetAccount(o.Account)
		p.SetDomainid(o.DomainID)
	}
}

// listParams is what the parameters of lists have in common.
type listParams interface {
	ownerParams
	SetPage(int)
	SetPagesize(int)
	SetListall(bool)
}

// scope asks for one page of what the owner has. With an id it asks for the one row, whoever of those the caller may see
// has it: a root administrator is not shown every row of others otherwise.
func (o Owner) scope(p listParams, number, size int, id string) {
	p.SetPage(number)
	p.SetPagesize(size)
	o.fill(p)
	if id != "" && o == (Owner{}) {
		p.SetListall(true)
	}
}

// has tells whether a row belongs to the owner. Of the caller's own account it is known that no project is meant.
func (o Owner) has(project, domain, account string) bool {
	switch {
	case o.ProjectID != "":
		return equalID(project, o.ProjectID)
	case o.Account != "":
		return account == o.Account && equalID(domain, o.DomainID)
	}
	return project == ""
}

// need refuses a call that lacks one of its ids: an empty id is a wide filter, or none.
func need(command string, ids ...string) error {
	for _, id := range ids {
		if id == "" {
			return newError(Invalid, command, "an id or name that the call needs is empty")
		}
	}
	return nil
}

// oneOf returns the row of the wanted id.
func oneOf[T any](rows []T, err error, command, id string, idOf func(T) string) (T, error) {
	var none T
	if err != nil && !Is(err, NotFound) { // the server's own text is about its parameters
		return none, err
	}
	for _, row := range rows {
		if equalID(idOf(row), id) {
			return row, nil
		}
	}
	return none, newError(NotFound, command, "nothing with the id %s is seen", id)
}

// parseTime reads the time form of CloudStack; zero when there is none.
func parseTime(text string) time.Time {
	at, err := time.Parse("2006-01-02T15:04:05-0700", text)
	if err != nil {
		return time.Time{}
	}
	return at
}

// tagMap turns tag rows into a map.
func tagMap(rows []sdk.Tags) map[string]string {
	tags := make(map[string]string, len(rows))
	for _, tag := range rows {
		tags[tag.Key] = tag.Value
	}
	return tags
}

// begun reads the reply of a call that makes something in the background.
func begun(id, job, command string) (string, Job, error) {
	if id == "" {
		return "", Job(job), newError(LostReply, command, "the reply names no id")
	}
	return id, Job(job), nil
}

// equalID compares ids as CloudStack does.
func equalID(a, b string) bool { return strings.EqualFold(a, b) }

// splitList reads the lists in replies, which are separated by blanks or commas depending on who wrote them last. An empty
// text is no list.
func splitList(text string) []string {
	list := strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' })
	if len(list) == 0 {
		return nil
	}
	return list
}
