package management

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
)

// mount writes the volumes of a pod into folders, again when their content changed.
func (k *kubelet) mount(ctx context.Context, p *pod, volumes []corev1.Volume) error {
	for i := range volumes {
		v := &volumes[i]
		dir := p.volume(v.Name)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return fmt.Errorf("mounting %s: %w", v.Name, err)
		}
		files, err := k.files(ctx, p, v)
		if err == nil {
			err = write(dir, files)
		}
		if err != nil {
			return fmt.Errorf("mounting %s: %w", v.Name, err)
		}
	}
	return nil
}

// files are the content of a volume. An empty folder has none.
func (k *kubelet) files(ctx context.Context, p *pod, v *corev1.Volume) (map[string]string, error) {
	switch {
	case v.EmptyDir != nil:
		return nil, nil
	case v.Secret != nil:
		all, err := k.secret(ctx, p.key.Namespace, v.Secret.SecretName, v.Secret.Optional)
		return chosen(all, v.Secret.Items), err
	case v.ConfigMap != nil:
		all, err := k.configMap(ctx, p.key.Namespace, v.ConfigMap.Name, v.ConfigMap.Optional)
		return chosen(all, v.ConfigMap.Items), err
	case v.Projected != nil:
		return k.projected(ctx, p, v.Projected.Sources)
	}
	return nil, errors.New("volumes of its kind are not known here")
}

func (k *kubelet) projected(ctx context.Context, p *pod, sources []corev1.VolumeProjection) (map[string]string, error) {
	files := map[string]string{}
	for _, s := range sources {
		var some map[string]string
		var err error
		switch {
		case s.Secret != nil:
			some, err = k.secret(ctx, p.key.Namespace, s.Secret.Name, s.Secret.Optional)
			some = chosen(some, s.Secret.Items)
		case s.ConfigMap != nil:
			some, err = k.configMap(ctx, p.key.Namespace, s.ConfigMap.Name, s.ConfigMap.Optional)
			some = chosen(some, s.ConfigMap.Items)
		case s.ServiceAccountToken != nil:
			token, readErr := os.ReadFile(p.token())
			some, err = map[string]string{s.ServiceAccountToken.Path: string(token)}, readErr
		default:
			err = errors.New("a projection of its kind is not known here")
		}
		if err != nil {
			return nil, err
		}
		for path, text := range some {
			files[path] = text
		}
	}
	return files, nil
}

// chosen are the items under their paths, or everything when there are no items.
func chosen(all map[string]string, items []corev1.KeyToPath) map[string]string {
	if len(items) == 0 {
		return all
	}
	some := map[string]string{}
	for _, i := range items {
		if text, ok := all[i.Key]; ok {
			some[i.Path] = text
		}
	}
	return some
}

// write replaces the files whose content is another; a reader sees the old one or the new one.
func write(dir string, files map[string]string) error {
	for name, text := range files {
		path := filepath.Join(dir, name)
		if had, err := os.ReadFile(path); err == nil && bytes.Equal(had, []byte(text)) {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
			return err
		}
		if err := os.Rename(path+".new", path); err != nil {
			return err
		}
	}
	return nil
}
