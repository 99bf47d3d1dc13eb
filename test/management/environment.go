package management

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// environment is that of the container, and where its API server is.
func (k *kubelet) environment(ctx context.Context, p *pod, d *appsv1.Deployment, c *corev1.Container) (map[string]string, error) {
	env := map[string]string{}
	for _, from := range c.EnvFrom {
		if err := k.addAll(ctx, env, d.Namespace, from); err != nil {
			return nil, err
		}
	}
	for _, e := range c.Env {
		value, found := expand(e.Value, env), true
		if e.ValueFrom != nil {
			var err error
			if value, found, err = k.value(ctx, d, e.ValueFrom); err != nil {
				return nil, fmt.Errorf("setting %s: %w", e.Name, err)
			}
		}
		if found {
			env[e.Name] = p.here(value)
		}
	}
	env["KUBECONFIG"] = p.kubeconfig()
	if dir := p.path("/tmp"); dir != "" {
		env["TMPDIR"] = dir
	}
	return env, nil
}

func (k *kubelet) addAll(ctx context.Context, env map[string]string, namespace string, from corev1.EnvFromSource) error {
	var all map[string]string
	var err error
	switch {
	case from.SecretRef != nil:
		all, err = k.secret(ctx, namespace, from.SecretRef.Name, from.SecretRef.Optional)
	case from.ConfigMapRef != nil:
		all, err = k.configMap(ctx, namespace, from.ConfigMapRef.Name, from.ConfigMapRef.Optional)
	}
	for name, value := range all {
		env[from.Prefix+name] = value
	}
	return err
}

// value reads what a variable is taken from. Only what is optional may be missing.
func (k *kubelet) value(ctx context.Context, d *appsv1.Deployment, from *corev1.EnvVarSource) (string, bool, error) {
	var all map[string]string
	var key string
	var optional *bool
	var err error
	switch {
	case from.FieldRef != nil:
		value, err := k.field(d, from.FieldRef.FieldPath)
		return value, true, err
	case from.SecretKeyRef != nil:
		key, optional = from.SecretKeyRef.Key, from.SecretKeyRef.Optional
		all, err = k.secret(ctx, d.Namespace, from.SecretKeyRef.Name, optional)
	case from.ConfigMapKeyRef != nil:
		key, optional = from.ConfigMapKeyRef.Key, from.ConfigMapKeyRef.Optional
		all, err = k.configMap(ctx, d.Namespace, from.ConfigMapKeyRef.Name, optional)
	default:
		return "", false, nil // resources of a container are not limited here
	}
	value, ok := all[key]
	if err == nil && !ok && (optional == nil || !*optional) {
		err = fmt.Errorf("there is no key %q", key)
	}
	return value, ok, err
}

func (k *kubelet) secret(ctx context.Context, namespace, name string, optional *bool) (map[string]string, error) {
	var s corev1.Secret
	err := k.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &s)
	if apierrors.IsNotFound(err) && optional != nil && *optional {
		return nil, nil
	}
	all := map[string]string{}
	for key, value := range s.Data {
		all[key] = string(value)
	}
	return all, err
}

func (k *kubelet) configMap(ctx context.Context, namespace, name string, optional *bool) (map[string]string, error) {
	var m corev1.ConfigMap
	err := k.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &m)
	if apierrors.IsNotFound(err) && optional != nil && *optional {
		return nil, nil
	}
	return m.Data, err
}

// field is what the downward API would tell of the pod.
func (k *kubelet) field(d *appsv1.Deployment, path string) (string, error) {
	switch path {
	case "metadata.namespace":
		return d.Namespace, nil
	case "metadata.name":
		return d.Name + "-0", nil
	case "metadata.uid":
		return string(d.UID), nil
	case "spec.serviceAccountName":
		return d.Spec.Template.Spec.ServiceAccountName, nil
	case "spec.nodeName":
		return "localhost", nil
	case "status.podIP", "status.hostIP":
		return k.pods.address, nil
	}
	for prefix, from := range map[string]map[string]string{"labels": d.Spec.Template.Labels, "annotations": d.Spec.Template.Annotations} {
		if key, ok := strings.CutPrefix(path, "metadata."+prefix+"['"); ok {
			return from[strings.TrimSuffix(key, "']")], nil
		}
	}
	return "", fmt.Errorf("the field %s of a pod is not known here", path)
}

func assignments(env map[string]string) []string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(env)) {
		all = append(all, name+"="+env[name])
	}
	return all
}
