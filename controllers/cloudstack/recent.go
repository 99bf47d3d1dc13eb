package cloudstack

import (
	"context"
	"time"
)

// RecentTemplate is FindTemplate answered from what was asked for at most maxAge ago: many machines use one template.
func (s *Session) RecentTemplate(ctx context.Context, owner Owner, zoneID, id string, maxAge time.Duration) (Template, error) {
	key := "listTemplates/id/" + owner.key() + "/" + zoneID + "/" + id
	return recall(ctx, s.memo, key, maxAge, func(ctx context.Context) (Template, error) {
		return s.FindTemplate(ctx, owner, zoneID, id)
	})
}

// RecentDeployableTemplates is DeployableTemplates answered from what was asked for at most maxAge ago.
func (s *Session) RecentDeployableTemplates(ctx context.Context, owner Owner, zoneID, name string, maxAge time.Duration) ([]Template, error) {
	key := "listTemplates/name/" + owner.key() + "/" + zoneID + "/" + name
	return recall(ctx, s.memo, key, maxAge, func(ctx context.Context) ([]Template, error) {
		return s.DeployableTemplates(ctx, owner, zoneID, name)
	})
}

// RecentNetwork is FindNetwork answered from what was asked for at most maxAge ago: many machines use one network.
func (s *Session) RecentNetwork(ctx context.Context, owner Owner, id string, maxAge time.Duration) (Network, error) {
	return recall(ctx, s.memo, "listNetworks/id/"+owner.key()+"/"+id, maxAge, func(ctx context.Context) (Network, error) {
		return s.FindNetwork(ctx, owner, id)
	})
}

// RecentNetworksNamed is NetworksNamed answered from what was asked for at most maxAge ago. It proves no absence.
func (s *Session) RecentNetworksNamed(ctx context.Context, owner Owner, zoneID, name string, maxAge time.Duration) ([]Network, error) {
	key := "listNetworks/name/" + owner.key() + "/" + zoneID + "/" + name
	return recall(ctx, s.memo, key, maxAge, func(ctx context.Context) ([]Network, error) {
		return s.NetworksNamed(ctx, owner, zoneID, name)
	})
}

// RecentAffinityGroup is AffinityGroupNamed answered from what was asked for at most maxAge ago. A group that is not found
// is asked for each time.
func (s *Session) RecentAffinityGroup(ctx context.Context, owner Owner, name string, maxAge time.Duration) (AffinityGroup, error) {
	return recall(ctx, s.memo, "listAffinityGroups/"+owner.key()+"/"+name, maxAge, func(ctx context.Context) (AffinityGroup, error) {
		return s.AffinityGroupNamed(ctx, owner, name)
	})
}
