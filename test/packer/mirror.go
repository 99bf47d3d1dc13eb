package packer

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// LayOut makes the folder of a mirror as capcat build takes it: the packages as a flat repository, the programs where dl.k8s.io has
// them, and an archive of container images.
func LayOut(ctx context.Context, dir, system string, programs map[string]string, base Base) error {
	if err := layOutPackages(ctx, filepath.Join(dir, system), base.Packages); err != nil {
		return fmt.Errorf("laying out the packages: %w", err)
	}
	release := filepath.Join(dir, "dl.k8s.io", "release", Version, "bin", "linux", "amd64")
	for name, path := range programs {
		target := filepath.Join(release, name)
		if err := copyFile(target, path); err != nil {
			return err
		}
		if err := writeSum(target); err != nil {
			return err
		}
	}
	return layOutImages(ctx, filepath.Join(dir, "images", "kubernetes-"+Version+"-linux-amd64.tar"), programs["kubeadm"])
}

func layOutPackages(ctx context.Context, dir, from string) error {
	files, err := filepath.Glob(filepath.Join(from, "*.deb"))
	if err != nil || len(files) == 0 {
		return errors.Join(err, fmt.Errorf("there is no package in %s", from))
	}
	for _, file := range files {
		if err := copyFile(filepath.Join(dir, filepath.Base(file)), file); err != nil {
			return err
		}
	}
	var said bytes.Buffer
	cmd := exec.CommandContext(ctx, "dpkg-scanpackages", "--multiversion", ".")
	cmd.Dir, cmd.Stderr = dir, &said
	list, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("%w\n%s", err, &said)
	}
	return os.WriteFile(filepath.Join(dir, "Packages"), list, 0o644)
}

// layOutImages makes stand-ins for the images that kubeadm names: their names and versions are right, in them is a line of text.
func layOutImages(ctx context.Context, path, kubeadm string) error {
	list, err := exec.CommandContext(ctx, kubeadm, "config", "images", "list", "--kubernetes-version", Version).Output()
	if err != nil {
		return fmt.Errorf("asking kubeadm for its images: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(writeImages(f, strings.Fields(string(list))), f.Close())
}

func copyFile(target, source string) (err error) {
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return err
	}
	in, err := os.Open(source)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.Create(target)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	_, err = io.Copy(out, in)
	return err
}

func writeSum(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return err
	}
	return os.WriteFile(path+".sha256", []byte(hex.EncodeToString(h.Sum(nil))+"\n"), 0o644)
}
