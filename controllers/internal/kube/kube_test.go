package kube_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/controllers/internal/kube"
)

// secrets is a reader of one Secret that counts what it is asked.
type secrets struct {
	secret     *corev1.Secret
	whole, all int
}

func (s *secrets) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	s.all++
	if s.secret == nil || key != client.ObjectKeyFromObject(s.secret) {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "secrets"}, key.Name)
	}
	switch o := into.(type) {
	case *corev1.Secret:
		s.whole++
		s.secret.DeepCopyInto(o)
	case *metav1.PartialObjectMetadata:
		o.ObjectMeta = *s.secret.ObjectMeta.DeepCopy()
	}
	return nil
}

func (s *secrets) List(context.Context, client.ObjectList, ...client.ListOption) error {
	return errors.New("nobody lists Secrets")
}

func usable() *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "cloudstack", UID: "uid", ResourceVersion: "1"},
		Data: map[string][]byte{
			"api-url": []byte("https://cloud.example.org/client/api\n"), "api-key": []byte("the-key"), "secret-key": []byte("the-secret"),
		},
	}
}

func TestCredentials(t *testing.T) {
	other := infrav1.IdentityKeys{APIURL: "url", APIKey: "key", SecretKey: "secret", VerifySSL: "verify"}
	tests := map[string]struct {
		change  func(*corev1.Secret)
		ref     infrav1.IdentityReference
		wantErr error
		says    string
		skip    bool
	}{
		"usable":           {ref: infrav1.IdentityReference{Name: "cloudstack"}},
		"verification off": {ref: infrav1.IdentityReference{Name: "cloudstack"}, change: set("verify-ssl", "False"), skip: true},
		"verification on":  {ref: infrav1.IdentityReference{Name: "cloudstack"}, change: set("verify-ssl", "true")},
		"missing":          {ref: infrav1.IdentityReference{Name: "nobody"}, wantErr: kube.ErrSecretNotFound, says: "nobody"},
		"no secret key": {
			ref: infrav1.IdentityReference{Name: "cloudstack"}, change: set("secret-key", " "), wantErr: kube.ErrSecretInvalid, says: "secret-key",
		},
		"odd verification": {
			ref: infrav1.IdentityReference{Name: "cloudstack"}, change: set("verify-ssl", "maybe"), wantErr: kube.ErrSecretInvalid, says: "verify-ssl",
		},
		"odd certificates": {
			ref: infrav1.IdentityReference{Name: "cloudstack"}, change: set("ca-cert", "nothing"), wantErr: kube.ErrSecretInvalid, says: "CA bundle",
		},
		"odd URL": {
			ref: infrav1.IdentityReference{Name: "cloudstack"}, change: set("api-url", "cloud.example.org"), wantErr: kube.ErrSecretInvalid, says: "URL",
		},
		"other keys": {
			ref: infrav1.IdentityReference{Name: "cloudstack", Keys: other}, skip: true,
			change: func(s *corev1.Secret) {
				s.Data = map[string][]byte{
					"url": s.Data["api-url"], "key": s.Data["api-key"], "secret": s.Data["secret-key"], "verify": []byte("false"),
				}
			},
		},
		"other keys that are not there": {
			ref: infrav1.IdentityReference{Name: "cloudstack", Keys: other}, wantErr: kube.ErrSecretInvalid, says: "url, key, secret",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			reader := &secrets{secret: usable()}
			if tc.change != nil {
				tc.change(reader.secret)
			}
			got, err := kube.NewCredentials(reader, reader, nil).Config(t.Context(), "ns", tc.ref)
			if !errors.Is(err, tc.wantErr) {
				t.Fatalf("error %v, want %v", err, tc.wantErr)
			}
			if err != nil {
				if !strings.Contains(err.Error(), tc.says) || strings.Contains(err.Error(), "the-secret") {
					t.Errorf("error %q, want it to say %q and no secret", err, tc.says)
				}
				return
			}
			if got.URL != "https://cloud.example.org/client/api" || got.APIKey != "the-key" || got.SecretKey != "the-secret" ||
				got.InsecureSkipVerify != tc.skip || got.Revision != "1" {
				t.Errorf("config of %s is wrong: skip %t, revision %s", got, got.InsecureSkipVerify, got.Revision)
			}
		})
	}
}

func set(key, value string) func(*corev1.Secret) {
	return func(s *corev1.Secret) { s.Data[key] = []byte(value) }
}

func TestSecretsAreReadOnceAChange(t *testing.T) {
	reader := &secrets{secret: usable()}
	c := kube.NewCredentials(reader, reader, nil)
	ask := func() string {
		t.Helper()
		config, err := c.Config(t.Context(), "ns", infrav1.IdentityReference{Name: "cloudstack"})
		if err != nil {
			t.Fatal(err)
		}
		return config.APIKey
	}
	for range 3 {
		ask()
	}
	if reader.whole != 1 {
		t.Errorf("the Secret was read %d times, want once", reader.whole)
	}
	reader.secret.ResourceVersion, reader.secret.Data["api-key"] = "2", []byte("another-key")
	if got := ask(); got != "another-key" || reader.whole != 2 {
		t.Errorf("after a change the key is %q, read %d times", got, reader.whole)
	}
}

func TestWakerKeepsWakeUpsUntilItIsStarted(t *testing.T) {
	w := kube.NewWaker()
	early, late := types.NamespacedName{Name: "early"}, types.NamespacedName{Name: "late"}
	w.Wake(early)
	w.Wake(early)
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	defer queue.ShutDown()
	if err := w.Start(t.Context(), queue); err != nil {
		t.Fatal(err)
	}
	w.Wake(late)
	var got []string
	for queue.Len() > 0 {
		item, _ := queue.Get()
		got = append(got, item.Name)
		queue.Done(item)
	}
	if diff := cmp.Diff([]string{"early", "late"}, got); diff != "" {
		t.Errorf("woken (-want +got):\n%s", diff)
	}
}

func TestTransition(t *testing.T) {
	condition := func(status metav1.ConditionStatus, reason, message string) []metav1.Condition {
		return []metav1.Condition{{Type: "Ready", Status: status, Reason: reason, Message: message}}
	}
	tests := map[string]struct {
		before, now []metav1.Condition
		want        bool
	}{
		"new":             {nil, condition("False", "A", ""), true},
		"another reason":  {condition("False", "A", ""), condition("False", "B", ""), true},
		"another status":  {condition("False", "A", ""), condition("True", "A", ""), true},
		"another message": {condition("False", "A", "x"), condition("False", "A", "y"), false},
		"gone":            {condition("False", "A", ""), nil, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if _, got := kube.Transition(tc.before, tc.now, "Ready"); got != tc.want {
				t.Errorf("Transition() = %t, want %t", got, tc.want)
			}
		})
	}
}

func TestWatched(t *testing.T) {
	ours := &infrav1.CloudStackImage{}
	ours.Labels = map[string]string{clusterv1.WatchLabel: "ours"}
	for name, tc := range map[string]struct {
		obj    client.Object
		filter string
		want   bool
	}{
		"no filter takes all":     {obj: ours, want: true},
		"the same":                {obj: ours, filter: "ours", want: true},
		"another":                 {obj: ours, filter: "theirs"},
		"an object with no label": {obj: &infrav1.CloudStackImage{}, filter: "ours"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := kube.Watched(tc.obj, tc.filter); got != tc.want {
				t.Errorf("Watched = %v, want %v", got, tc.want)
			}
		})
	}
}

// TestCredentialsTellOfASecretThatIsGone: deleted, or replaced by another one of the same name.
func TestCredentialsTellOfASecretThatIsGone(t *testing.T) {
	for name, change := range map[string]func(*secrets){
		"deleted":  func(s *secrets) { s.secret = nil },
		"replaced": func(s *secrets) { s.secret.UID, s.secret.ResourceVersion = "another", "7" },
	} {
		t.Run(name, func(t *testing.T) {
			reader := &secrets{secret: usable()}
			var gone []string
			c := kube.NewCredentials(reader, reader, func(uid string) { gone = append(gone, uid) })
			ref := infrav1.IdentityReference{Name: "cloudstack"}
			if _, err := c.Config(t.Context(), "ns", ref); err != nil || len(gone) > 0 {
				t.Fatalf("%v, gone %v", err, gone)
			}
			change(reader)
			_, _ = c.Config(t.Context(), "ns", ref)
			_, _ = c.Config(t.Context(), "ns", ref)
			if diff := cmp.Diff([]string{"uid/"}, gone); diff != "" {
				t.Errorf("gone (-want +got):\n%s", diff)
			}
		})
	}
}
