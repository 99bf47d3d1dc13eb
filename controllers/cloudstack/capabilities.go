package cloudstack

import (
	"context"
	"time"

	sdk "github.com/apache/cloudstack-go/v2/cloudstack"
)

// capabilityAge is how old an answer about the server itself or about permissions may be.
const capabilityAge = 10 * time.Minute

// Version returns the version of the server as it says it, such as 4.22.0.0.
func (s *Session) Version(ctx context.Context) (string, error) {
	return recall(ctx, s.memo, "listCapabilities", capabilityAge, func(ctx context.Context) (string, error) {
		got, err := invoke(ctx, s, func(c *sdk.CloudStackClient) (*sdk.ListCapabilitiesResponse, error) {
			return c.Configuration.ListCapabilities(c.Configuration.NewListCapabilitiesParams())
		})
		switch {
		case err != nil:
			return "", err
		case got.Capabilities == nil:
			return "", newError(Internal, "listCapabilities", "the reply names no version")
		}
		return got.Capabilities.Cloudstackversion, nil
	})
}

// Missing tells which of the commands the caller may not call, in the given order. Where listing them is itself not
// permitted nothing is known and nothing is missing.
func (s *Session) Missing(ctx context.Context, commands ...string) ([]string, error) {
	allowed, err := recall(ctx, s.memo, "listApis", capabilityAge, s.listAPIs)
	if Is(err, NotPermitted) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var missing []string
	for _, name := range commands {
		if !allowed[name] {
			missing = append(missing, name)
		}
	}
	return missing, nil
}

func (s *Session) listAPIs(ctx context.Context) (map[string]bool, error) {
	got, err := invoke(ctx, s, func(c *sdk.CloudStackClient) (*sdk.ListApisResponse, error) {
		return c.APIDiscovery.ListApis(c.APIDiscovery.NewListApisParams())
	})
	if err != nil {
		return nil, err
	}
	allowed := make(map[string]bool, len(got.Apis))
	for _, api := range got.Apis {
		allowed[api.Name] = true
	}
	return allowed, nil
}

// RecheckPermissions makes the next Missing ask the server, after a call was not permitted.
func (s *Session) RecheckPermissions() { s.memo.forget("listApis") }
