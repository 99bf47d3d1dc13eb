package build

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
)

// writeSeed makes a key that lives as long as the build, and what lets it into the machine.
func writeSeed(dir, kind, login string) (keyFile string, err error) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return "", fmt.Errorf("making a key: %w", err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return "", fmt.Errorf("making a key: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	keyFile = filepath.Join(dir, "key")
	files := map[string][]byte{"key": pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})}
	if kind == "ignition" {
		if files["config.ign"], err = ignition(login, authorized(public)); err != nil {
			return "", err
		}
	} else {
		files["user-data"] = cloudConfig(login, authorized(public))
		files["meta-data"] = fmt.Appendf(nil, "instance-id: build-%s\nlocal-hostname: build\n", hex.EncodeToString(public[:8]))
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			return "", err
		}
	}
	return keyFile, nil
}

// authorized is the line of a key in authorized_keys.
func authorized(key ed25519.PublicKey) string {
	const kind = "ssh-ed25519"
	var blob []byte
	for _, part := range [][]byte{[]byte(kind), key} {
		blob = binary.BigEndian.AppendUint32(blob, uint32(len(part)))
		blob = append(blob, part...)
	}
	return kind + " " + base64.StdEncoding.EncodeToString(blob) + " build"
}

func cloudConfig(login, key string) []byte {
	return fmt.Appendf(nil, "#cloud-config\ndisable_root: false\nusers:\n- name: %s\n  sudo: ALL=(ALL) NOPASSWD:ALL\n  ssh_authorized_keys:\n  - %s\n", login, key)
}

func ignition(login, key string) ([]byte, error) {
	type user struct {
		Name string   `json:"name"`
		Keys []string `json:"sshAuthorizedKeys"`
	}
	return json.Marshal(map[string]any{
		"ignition": map[string]string{"version": "3.3.0"},
		"passwd":   map[string]any{"users": []user{{Name: login, Keys: []string{key}}}},
	})
}
