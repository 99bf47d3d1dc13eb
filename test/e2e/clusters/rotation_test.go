//go:build e2e

package clusters

import (
	"context"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
)

// New keys in the Secret are used at once and without a restart; with the old ones a condition says that CloudStack refuses them.
func TestRotationOfCredentials(t *testing.T) {
	const caller = "user2"
	s := begin(t)
	s.credentialsOf(caller)
	s.catalog([]string{"zone-kvm"}, "v1.34.2")
	s.generate("rotating", "v1.34.2", size{1, 1}, "", "CLOUDSTACK_ZONE_NAME=zone-kvm")
	s.runs("rotating", "v1.34.2", size{1, 1})

	cloud := s.cloud(caller)
	users, err := cloud.User.ListUsers(cloud.User.NewListUsersParams())
	s.must(err)
	keys, err := cloud.User.RegisterUserKeys(cloud.User.NewRegisterUserKeysParams(users.Users[0].Id))
	s.must(err)
	s.scale("rotating", size{1, 2})
	s.eventually("the refusal of the old keys", func(ctx context.Context) error {
		var c infrav1.CloudStackCluster
		if err := s.client.Get(ctx, client.ObjectKey{Namespace: s.namespace, Name: "rotating"}, &c); err != nil {
			return err
		}
		return conditionIs(c.Status.Conditions, infrav1.ConditionCredentialsAvailable, metav1.ConditionFalse, infrav1.ReasonCredentialsRefused)
	})
	s.setCredentials(map[string]string{"api-key": keys.Apikey, "secret-key": keys.Secretkey})
	s.runs("rotating", "v1.34.2", size{1, 2})
	s.remove("rotating")
}
