package cloudstack

import (
	"context"
	"strings"

	sdk "github.com/apache/cloudstack-go/v2/cloudstack"
)

// SSHKey is a public key that CloudStack keeps; machines name it.
type SSHKey struct{ ID, Name, Fingerprint string }

// FindSSHKey finds the owner's key of that name; like CloudStack it ignores case. The answer may be two minutes old.
func (s *Session) FindSSHKey(ctx context.Context, owner Owner, name string) (SSHKey, error) {
	if err := need("listSSHKeyPairs", name); err != nil {
		return SSHKey{}, err
	}
	keys, err := recall(ctx, s.memo, "listSSHKeyPairs/"+owner.key()+"/"+name, offeringAge, func(ctx context.Context) ([]SSHKey, error) {
		return s.listSSHKeys(ctx, owner, name)
	})
	if err != nil {
		return SSHKey{}, err
	}
	for _, k := range keys {
		if strings.EqualFold(k.Name, name) {
			return k, nil
		}
	}
	return SSHKey{}, newError(NotFound, "listSSHKeyPairs", "no SSH key %q is seen", name)
}

func (s *Session) listSSHKeys(ctx context.Context, owner Owner, name string) ([]SSHKey, error) {
	rows, err := readRows(ctx, s, "listSSHKeyPairs", func(k *sdk.SSHKeyPair) string { return k.Domainid + "/" + k.Account + "/" + k.Name },
		func(c *sdk.CloudStackClient, number, size int) ([]*sdk.SSHKeyPair, int, error) {
			p := c.SSH.NewListSSHKeyPairsParams()
			owner.scope(p, number, size, "")
			p.SetName(name)
			got, err := c.SSH.ListSSHKeyPairs(p)
			if err != nil {
				return nil, 0, err
			}
			return got.SSHKeyPairs, got.Count, nil
		})
	if err != nil {
		return nil, err
	}
	out := make([]SSHKey, 0, len(rows))
	for _, row := range rows {
		if owner.has(row.Projectid, row.Domainid, row.Account) {
			out = append(out, SSHKey{ID: row.Id, Name: row.Name, Fingerprint: row.Fingerprint})
		}
	}
	return out, nil
}
