package cloudstack

import (
	"context"
	"slices"
	"strings"
	"time"

	sdk "github.com/apache/cloudstack-go/v2/cloudstack"
)

// NewTemplate is what a template is registered with.
type NewTemplate struct {
	Owner               Owner
	Name, DisplayText   string
	ZoneID              string
	Hypervisor, Format  string
	OSTypeID            string
	Arch                string // sent only when it is not x86_64, which every version takes for granted
	Details             map[string]string
	Public, Featured    bool
	PasswordEnabled     bool
	SSHKeyEnabled       bool
	DynamicallyScalable bool
	RequiresHVM         bool
	Extractable         bool
}

// defaultArch is what CloudStack assumes; the parameter is known from 4.20 on.
const defaultArch = "x86_64"

// templateParams is what the two ways to make a template have in common.
type templateParams interface {
	SetOstypeid(string)
	SetDetails(map[string]string)
	SetIspublic(bool)
	SetIsfeatured(bool)
	SetPasswordenabled(bool)
	SetSshkeyenabled(bool)
	SetIsdynamicallyscalable(bool)
	SetRequireshvm(bool)
	SetIsextractable(bool)
	SetArch(string)
	SetProjectid(string)
	SetAccount(string)
	SetDomainid(string)
}

func (n NewTemplate) fill(p templateParams) {
	p.SetOstypeid(n.OSTypeID)
	p.SetDetails(n.Details)
	p.SetIspublic(n.Public || n.Featured)
	p.SetPasswordenabled(n.PasswordEnabled)
	p.SetSshkeyenabled(n.SSHKeyEnabled)
	p.SetIsdynamicallyscalable(n.DynamicallyScalable)
	p.SetRequireshvm(n.RequiresHVM)
	p.SetIsextractable(n.Extractable)
	if n.Featured {
		p.SetIsfeatured(true)
	}
	if n.Arch != "" && n.Arch != defaultArch {
		p.SetArch(n.Arch)
	}
	switch {
	case n.Owner.ProjectID != "":
		p.SetProjectid(n.Owner.ProjectID)
	case n.Owner.Account != "":
		p.SetAccount(n.Owner.Account)
		p.SetDomainid(n.Owner.DomainID)
	}
}

// RegisterTemplate makes CloudStack download a template from url. checksum, "{SHA-256}" with lower-case hex digits, is of the
// bytes as they are downloaded; empty sends none. After LostReply or Internal the template may exist or come into being.
func (s *Session) RegisterTemplate(ctx context.Context, n NewTemplate, url, checksum string) (Template, error) {
	got, err := invoke(ctx, s, func(c *sdk.CloudStackClient) (*sdk.RegisterTemplateResponse, error) {
		p := c.Template.NewRegisterTemplateParams(n.DisplayText, n.Format, n.Hypervisor, n.Name, url)
		p.SetZoneid(n.ZoneID)
		n.fill(p)
		if checksum != "" {
			p.SetChecksum(checksum)
		}
		return c.Template.RegisterTemplate(p)
	})
	if err != nil {
		return Template{}, err
	}
	for _, row := range got.RegisterTemplate {
		if row.Id != "" {
			return Template{ID: row.Id, Name: row.Name, ZoneID: n.ZoneID}, nil
		}
	}
	return Template{}, newError(LostReply, "registerTemplate", "the reply names no template")
}

// Upload is the permission to send the content of one template to the secondary storage, once. It is secret.
type Upload struct {
	TemplateID string
	PostURL    string
	Metadata   string
	Signature  string
	Expires    string
}

// String names no secret.
func (u Upload) String() string { return "upload of template " + u.TemplateID }

// GoString is String.
func (u Upload) GoString() string { return u.String() }

// PrepareUpload makes a template that waits for its content. No checksum goes with it: CloudStack 4.22 fails every upload
// that has one. After LostReply or Internal the template may exist, and nobody can upload to it.
func (s *Session) PrepareUpload(ctx context.Context, n NewTemplate) (Upload, error) {
	got, err := invoke(ctx, s, func(c *sdk.CloudStackClient) (*sdk.GetUploadParamsForTemplateResponse, error) {
		p := c.Template.NewGetUploadParamsForTemplateParams(n.DisplayText, n.Format, n.Hypervisor, n.Name, n.ZoneID)
		n.fill(p)
		return c.Template.GetUploadParamsForTemplate(p)
	})
	if err != nil {
		return Upload{}, err
	}
	if got.Id == "" || got.PostURL == "" {
		return Upload{}, newError(LostReply, "getUploadParamsForTemplate", "the reply lacks the template or the address")
	}
	return Upload{TemplateID: got.Id, PostURL: got.PostURL, Metadata: got.Metadata, Signature: got.Signature, Expires: got.Expires}, nil
}

// DeleteTemplate begins to delete a template in one zone, never by force. What stands in its way is told by the job, or
// at once: NotFound means that it is gone, InUse and Busy that it can go later.
func (s *Session) DeleteTemplate(ctx context.Context, owner Owner, zoneID, id string) (Job, error) {
	if id == "" || zoneID == "" {
		return "", newError(Invalid, "deleteTemplate", "the id of the template or of the zone is empty")
	}
	got, err := invoke(ctx, s, func(c *sdk.CloudStackClient) (*sdk.DeleteTemplateResponse, error) {
		p := c.Template.NewDeleteTemplateParams(id)
		p.SetZoneid(zoneID)
		return c.Template.DeleteTemplate(p)
	})
	s.forgetTemplates(owner, zoneID)
	if err != nil {
		return "", err
	}
	return Job(got.JobID), nil
}

// UpdateDetails sets details of a template and leaves its others as they are. CloudStack replaces them all, so they are
// read first; a change by others in between is lost.
func (s *Session) UpdateDetails(ctx context.Context, owner Owner, zoneID, id string, set map[string]string) error {
	now, err := s.FindTemplate(ctx, owner, zoneID, id)
	if err != nil {
		return err
	}
	merged := map[string]string{}
	for _, details := range []map[string]string{now.Details, set} {
		for key, value := range details {
			merged[key] = value
		}
	}
	_, err = invoke(ctx, s, func(c *sdk.CloudStackClient) (*sdk.UpdateTemplateResponse, error) {
		p := c.Template.NewUpdateTemplateParams(id)
		p.SetDetails(merged)
		return c.Template.UpdateTemplate(p)
	})
	s.forgetTemplates(owner, zoneID)
	return err
}

// TagTemplate adds tags to a template. The job that does it fails as a whole when one of the keys is there already.
func (s *Session) TagTemplate(ctx context.Context, id string, tags map[string]string) (Job, error) {
	if id == "" || len(tags) == 0 {
		return "", newError(Invalid, "createTags", "the id of the template is empty, or there is no tag")
	}
	got, err := invoke(ctx, s, func(c *sdk.CloudStackClient) (*sdk.CreateTagsResponse, error) {
		return c.Resourcetags.CreateTags(c.Resourcetags.NewCreateTagsParams([]string{id}, "Template", tags))
	})
	if err != nil {
		return "", err
	}
	return Job(got.JobID), nil
}

// forgetTemplates makes the next RecentTemplates ask the server, because a row it may show is gone or changed. A row that
// is missing from it does no harm: nothing is created because of it.
func (s *Session) forgetTemplates(owner Owner, zoneID string) {
	s.memo.forget("listTemplates/" + owner.key() + "/" + zoneID)
}

// sortByAge puts the oldest first, and orders equals by id so that every reader sees the same order.
func sortByAge(list []Template) {
	slices.SortStableFunc(list, func(a, b Template) int {
		if c := a.Created.Truncate(time.Second).Compare(b.Created.Truncate(time.Second)); c != 0 {
			return c
		}
		return strings.Compare(a.ID, b.ID)
	})
}
