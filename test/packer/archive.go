package packer

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
)

// descriptor points to a blob of an OCI image layout.
type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int               `json:"size"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// layout is an OCI image layout that is being written as a tar.
type layout struct {
	tar  *tar.Writer
	seen map[string]bool
}

// writeImages writes an archive with an image of one small layer for each name, as "ctr images import" takes it.
func writeImages(w io.Writer, names []string) error {
	l := &layout{tar: tar.NewWriter(w), seen: map[string]bool{}}
	index := struct {
		Schema    int          `json:"schemaVersion"`
		Manifests []descriptor `json:"manifests"`
	}{Schema: 2}
	for _, name := range names {
		d, err := l.image(name)
		if err != nil {
			return err
		}
		index.Manifests = append(index.Manifests, d)
	}
	list, err := json.Marshal(index)
	if err != nil {
		return err
	}
	for name, text := range map[string]string{"index.json": string(list), "oci-layout": `{"imageLayoutVersion":"1.0.0"}`} {
		if err := l.file(name, []byte(text)); err != nil {
			return err
		}
	}
	return l.tar.Close()
}

func (l *layout) image(name string) (descriptor, error) {
	var layer bytes.Buffer
	inner := &layout{tar: tar.NewWriter(&layer)}
	if err := inner.file("stand-in", []byte("This stands in for "+name+".\n")); err != nil {
		return descriptor{}, err
	}
	if err := inner.tar.Close(); err != nil {
		return descriptor{}, err
	}
	blob, err := l.blob("application/vnd.oci.image.layer.v1.tar", layer.Bytes())
	if err != nil {
		return descriptor{}, err
	}
	config, err := l.document("application/vnd.oci.image.config.v1+json", map[string]any{
		"architecture": "amd64", "os": "linux", "config": map[string]any{"Cmd": []string{"/stand-in"}},
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{blob.Digest}},
	})
	if err != nil {
		return descriptor{}, err
	}
	d, err := l.document("application/vnd.oci.image.manifest.v1+json", map[string]any{
		"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json", "config": config, "layers": []descriptor{blob},
	})
	d.Annotations = map[string]string{"io.containerd.image.name": name}
	return d, err
}

func (l *layout) document(kind string, v any) (descriptor, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return descriptor{}, err
	}
	return l.blob(kind, text)
}

func (l *layout) blob(kind string, content []byte) (descriptor, error) {
	sum := sha256.Sum256(content)
	id := hex.EncodeToString(sum[:])
	d := descriptor{MediaType: kind, Digest: "sha256:" + id, Size: len(content)}
	if l.seen[id] {
		return d, nil
	}
	l.seen[id] = true
	return d, l.file("blobs/sha256/"+id, content)
}

func (l *layout) file(name string, content []byte) error {
	if err := l.tar.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(content)), Typeflag: tar.TypeReg}); err != nil {
		return err
	}
	_, err := l.tar.Write(content)
	return err
}
