package cloudstack

import (
	"context"
	"slices"

	sdk "github.com/apache/cloudstack-go/v2/cloudstack"
)

// ResourceType is a kind of thing that can be tagged. Affinity groups, SSH keys and offerings cannot.
type ResourceType string

// The kinds of things that can be tagged.
const (
	TagsOfVM           ResourceType = "UserVm"
	TagsOfTemplate     ResourceType = "Template"
	TagsOfVolume       ResourceType = "Volume"
	TagsOfNetwork      ResourceType = "Network"
	TagsOfAddress      ResourceType = "PublicIpAddress"
	TagsOfVPC          ResourceType = "Vpc"
	TagsOfLoadBalancer ResourceType = "LoadBalancer"
	// TagsOfFirewallRule is for rules of both directions.
	TagsOfFirewallRule ResourceType = "FirewallRule"
)

// Tags lists the tags of one thing; none when it does not exist. Those of a load-balancer rule outlive it.
func (s *Session) Tags(ctx context.Context, owner Owner, kind ResourceType, id string) (map[string]string, error) {
	if err := need("listTags", string(kind), id); err != nil {
		return nil, err
	}
	rows, err := readRows(ctx, s, "listTags", func(t *sdk.Tag) string { return t.Resourceid + "/" + t.Key },
		func(c *sdk.CloudStackClient, number, size int) ([]*sdk.Tag, int, error) {
			p := c.Resourcetags.NewListTagsParams()
			owner.scope(p, number, size, id)
			p.SetResourcetype(string(kind))
			p.SetResourceid(id)
			got, err := c.Resourcetags.ListTags(p)
			if err != nil {
				return nil, 0, err
			}
			return got.Tags, got.Count, nil
		})
	if err != nil {
		return nil, err
	}
	tags := make(map[string]string, len(rows))
	for _, row := range rows {
		if equalID(row.Resourceid, id) {
			tags[row.Key] = row.Value
		}
	}
	return tags, nil
}

// CreateTags begins to tag things of one kind, all of them or none. The job fails with Conflict when one has one of the keys
// already, whatever the value, and with NotFound when one is gone.
func (s *Session) CreateTags(ctx context.Context, kind ResourceType, tags map[string]string, ids ...string) (Job, error) {
	if err := need("createTags", slices.Concat(ids, []string{string(kind)})...); err != nil {
		return "", err
	}
	if len(ids) == 0 || len(tags) == 0 {
		return "", newError(Invalid, "createTags", "there is nothing to tag, or no tag")
	}
	got, err := invoke(ctx, s, func(c *sdk.CloudStackClient) (*sdk.CreateTagsResponse, error) {
		return c.Resourcetags.CreateTags(c.Resourcetags.NewCreateTagsParams(ids, string(kind), tags))
	})
	if err != nil {
		return "", err
	}
	return Job(got.JobID), nil
}

// DeleteTags begins to remove tags, each only if it has the value given. The job fails with NotFound when none of them is
// there. It never removes all tags of a thing.
func (s *Session) DeleteTags(ctx context.Context, kind ResourceType, tags map[string]string, ids ...string) (Job, error) {
	if err := need("deleteTags", slices.Concat(ids, []string{string(kind)})...); err != nil {
		return "", err
	}
	if len(ids) == 0 || len(tags) == 0 {
		return "", newError(Invalid, "deleteTags", "there is nothing to remove tags from, or no tag")
	}
	got, err := invoke(ctx, s, func(c *sdk.CloudStackClient) (*sdk.DeleteTagsResponse, error) {
		p := c.Resourcetags.NewDeleteTagsParams(ids, string(kind))
		p.SetTags(tags)
		return c.Resourcetags.DeleteTags(p)
	})
	if err != nil {
		return "", err
	}
	return Job(got.JobID), nil
}
