package cloudstack

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	sdk "github.com/apache/cloudstack-go/v2/cloudstack"
)

// capabilityAge is how old an answer about the server itself or about permissions may be.
const capabilityAge = 10 * time.Minute

// Capabilities are what the server and the account allow.
type Capabilities struct {
	// Version is what the server says it is, such as 4.22.0.0.
	Version string
	// MayExpunge is set when the caller may remove machines for good at once. Without it a destroyed machine holds its name
	// and its network until the server expunges it, a day by default.
	MayExpunge bool
	// SeesDestroyed is set when the caller's lists show destroyed machines.
	SeesDestroyed bool
	// KubernetesService is set when clusters can be shown in CloudStack's own Kubernetes service.
	KubernetesService bool
	// MinDiskGiB and MaxDiskGiB bound the data disks of custom offerings.
	MinDiskGiB, MaxDiskGiB int64
}

// Capabilities tells what the server and the account allow. The answer may be ten minutes old.
func (s *Session) Capabilities(ctx context.Context) (Capabilities, error) {
	return recall(ctx, s.memo, "listCapabilities", capabilityAge, func(ctx context.Context) (Capabilities, error) {
		got, err := invoke(ctx, s, func(c *sdk.CloudStackClient) (*sdk.ListCapabilitiesResponse, error) {
			return c.Configuration.ListCapabilities(c.Configuration.NewListCapabilitiesParams())
		})
		switch {
		case err != nil:
			return Capabilities{}, err
		case got.Capabilities == nil:
			return Capabilities{}, newError(Internal, "listCapabilities", "the reply names no version")
		}
		return Capabilities{
			Version: got.Capabilities.Cloudstackversion, MayExpunge: got.Capabilities.Allowuserexpungerecovervm,
			SeesDestroyed:     got.Capabilities.Allowuserviewdestroyedvm,
			KubernetesService: got.Capabilities.Kubernetesserviceenabled,
			MinDiskGiB:        got.Capabilities.Customdiskofferingminsize, MaxDiskGiB: got.Capabilities.Customdiskofferingmaxsize,
		}, nil
	})
}

// Version returns the version of the server as it says it, such as 4.22.0.0.
func (s *Session) Version(ctx context.Context) (string, error) {
	got, err := s.Capabilities(ctx)
	return got.Version, err
}

// AtLeast tells whether a version such as 4.22.0.0 is not before another one such as 4.22. Parts that are no numbers are 0.
func AtLeast(version, least string) bool {
	have, want := strings.FieldsFunc(version, isSeparator), strings.Split(least, ".")
	for i, text := range want {
		part := ""
		if i < len(have) {
			part = have[i]
		}
		h, _ := strconv.Atoi(part)
		w, _ := strconv.Atoi(text)
		if h != w {
			return h > w
		}
	}
	return true
}

func isSeparator(r rune) bool { return r == '.' || r == '-' }

// Missing tells which of the commands the caller may not call, in the given order. They are asked for one by one: the
// whole list is a megabyte. Where asking is itself not permitted nothing is known and nothing is missing.
func (s *Session) Missing(ctx context.Context, commands ...string) ([]string, error) {
	var missing []string
	for _, name := range commands {
		allowed, err := recall(ctx, s.memo, "listApis/"+name, capabilityAge, func(ctx context.Context) (bool, error) {
			return s.permits(ctx, name)
		})
		if Is(err, NotPermitted) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		if !allowed {
			missing = append(missing, name)
		}
	}
	return missing, nil
}

func (s *Session) permits(ctx context.Context, name string) (bool, error) {
	got, err := invoke(ctx, s, func(c *sdk.CloudStackClient) (*sdk.ListApisResponse, error) {
		p := c.APIDiscovery.NewListApisParams()
		p.SetName(name)
		return c.APIDiscovery.ListApis(p)
	})
	if Is(err, NotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(got.Apis, func(api *sdk.Api) bool { return api.Name == name }), nil
}

// RecheckPermissions makes the next Missing ask the server about these commands, after a call was not permitted.
func (s *Session) RecheckPermissions(commands ...string) {
	for _, name := range commands {
		s.memo.forget("listApis/" + name)
	}
}
