package kube

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/controllers/cloudstack"
)

var (
	// ErrSecretNotFound is the cause when the identity Secret does not exist.
	ErrSecretNotFound = errors.New("the Secret does not exist")
	// ErrSecretInvalid is the cause when the identity Secret lacks a key or holds an unusable value.
	ErrSecretInvalid = errors.New("the Secret is not usable")
)

// Credentials turns identity references into the configuration of CloudStack sessions.
type Credentials struct {
	metadata client.Reader
	secrets  client.Reader

	// gone is told the UID of a Secret, followed by a slash, that is no more; may be nil.
	gone func(string)

	mu    sync.Mutex
	known map[types.UID]knownSecret
	uids  map[types.NamespacedName]types.UID
}

type knownSecret struct {
	resourceVersion string
	keys            infrav1.IdentityKeys
	config          cloudstack.Config
}

// NewCredentials reads Secrets from secrets, which should not be a cache, and only when metadata, which should be one,
// shows that they have changed. gone, which may be nil, is told what the UIDs of configs begin with whose Secret was deleted
// or replaced.
func NewCredentials(metadata, secrets client.Reader, gone func(uidPrefix string)) *Credentials {
	return &Credentials{
		metadata: metadata, secrets: secrets, gone: gone, known: map[types.UID]knownSecret{}, uids: map[types.NamespacedName]types.UID{},
	}
}

// Config reads the Secret that ref names in the namespace. Errors are ErrSecretNotFound, ErrSecretInvalid or those of the
// Kubernetes API; their texts name the Secret and its keys and never a value.
func (c *Credentials) Config(ctx context.Context, namespace string, ref infrav1.IdentityReference) (cloudstack.Config, error) {
	key := types.NamespacedName{Namespace: namespace, Name: ref.Name}
	meta := &metav1.PartialObjectMetadata{}
	meta.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	if err := c.metadata.Get(ctx, key, meta); err == nil {
		c.mu.Lock()
		known, ok := c.known[meta.UID]
		c.mu.Unlock()
		if ok && known.resourceVersion == meta.ResourceVersion && known.keys == ref.Keys {
			return known.config, nil
		}
	}
	secret := &corev1.Secret{}
	if err := c.secrets.Get(ctx, key, secret); err != nil {
		if apierrors.IsNotFound(err) {
			c.note(key, "")
			return cloudstack.Config{}, fmt.Errorf("reading Secret %s: %w", key.Name, ErrSecretNotFound)
		}
		return cloudstack.Config{}, fmt.Errorf("reading Secret %s: %w", key.Name, err)
	}
	c.note(key, secret.UID)
	config, err := configOf(secret, ref.Keys)
	if err != nil {
		return cloudstack.Config{}, fmt.Errorf("reading Secret %s: %w", key.Name, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.known[secret.UID] = knownSecret{resourceVersion: secret.ResourceVersion, keys: ref.Keys, config: config}
	return config, nil
}

// note remembers which Secret has a name, and tells of the one that had it before.
func (c *Credentials) note(key types.NamespacedName, now types.UID) {
	c.mu.Lock()
	before := c.uids[key]
	delete(c.uids, key)
	if now != "" {
		c.uids[key] = now
	}
	if before != now {
		delete(c.known, before)
	}
	c.mu.Unlock()
	if before != "" && before != now && c.gone != nil {
		c.gone(string(before) + "/")
	}
}

func configOf(secret *corev1.Secret, keys infrav1.IdentityKeys) (cloudstack.Config, error) {
	var missing []string
	need := func(key infrav1.SecretKey, usual string) string {
		name := keyName(key, usual)
		value := strings.TrimSpace(string(secret.Data[name]))
		if value == "" {
			missing = append(missing, name)
		}
		return value
	}
	config := cloudstack.Config{
		UID:       string(secret.UID) + "/" + keyNames(keys),
		Revision:  secret.ResourceVersion,
		URL:       need(keys.APIURL, "api-url"),
		APIKey:    need(keys.APIKey, "api-key"),
		SecretKey: need(keys.SecretKey, "secret-key"),
		CABundle:  secret.Data[keyName(keys.CACert, "ca-cert")],
	}
	if len(missing) > 0 {
		return config, fmt.Errorf("%w: it lacks %s", ErrSecretInvalid, strings.Join(missing, ", "))
	}
	name := keyName(keys.VerifySSL, "verify-ssl")
	switch strings.ToLower(strings.TrimSpace(string(secret.Data[name]))) {
	case "", "true":
	case "false":
		config.InsecureSkipVerify = true
	default:
		return config, fmt.Errorf("%w: %s is neither true nor false", ErrSecretInvalid, name)
	}
	if err := config.Validate(); err != nil {
		return config, fmt.Errorf("%w: %w", ErrSecretInvalid, err)
	}
	return config, nil
}

func keyName(key infrav1.SecretKey, usual string) string {
	if key != "" {
		return string(key)
	}
	return usual
}

// keyNames tells apart sessions that read different keys of the same Secret.
func keyNames(keys infrav1.IdentityKeys) string {
	all := []infrav1.SecretKey{keys.APIURL, keys.APIKey, keys.SecretKey, keys.VerifySSL, keys.CACert}
	names := make([]string, 0, len(all))
	for _, k := range all {
		names = append(names, string(k))
	}
	return strings.Join(names, ",")
}
