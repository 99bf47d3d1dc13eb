package build

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/capcat/capcat/imagecatalog/artifact"
	"github.com/capcat/capcat/imagecatalog/artifact/checksum"
	"github.com/capcat/capcat/imagecatalog/artifact/disk"
	"github.com/capcat/capcat/imagecatalog/artifact/fetch"
	"github.com/capcat/capcat/imagecatalog/artifact/inspect"
)

// maxDiskMiB is the default limit of an import, 1 TiB.
const maxDiskMiB = artifact.DefaultMaxVirtualSizeBytes / disk.MiB

// base finds the disk to begin with and gives its path and SHA-256.
func (p plan) base(ctx context.Context) (string, artifact.Digest, error) {
	source, proof := p.BaseImage, p.BaseChecksum
	if source == "" {
		source, proof = p.mirrored(p.system.dict["base_images"][p.Architecture]), p.mirrored(p.system.dict["base_checksums"][p.Architecture])
		if source == "" {
			return "", artifact.Digest{}, fmt.Errorf("the recipe of %s has no base image for %s", p.OS, p.Architecture)
		}
	}
	f := fetch.New(fetch.Options{AllowLoopback: true, Proxy: http.ProxyFromEnvironment, Attempts: 3})
	defer f.Close()
	remote := strings.Contains(source, "://")
	if proof == "" && remote {
		return "", artifact.Digest{}, errors.New("a base image that is fetched needs a checksum: give --base-checksum")
	}
	var want artifact.Digest
	if proof != "" {
		var err error
		if want, err = expectation(ctx, f, source, proof); err != nil {
			return "", artifact.Digest{}, fmt.Errorf("finding the digest of the base image: %w", err)
		}
	}
	if !remote {
		digest, err := proven(source, want)
		return source, digest, err
	}
	return p.download(ctx, f, source, want)
}

// checkBase inspects the base image: a machine without a system on its disk would only be silent until Packer's patience ends.
func (p plan) checkBase(ctx context.Context, name string) error {
	f, err := os.Open(name)
	if err != nil {
		return fmt.Errorf("reading the base image: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("reading the base image: %w", err)
	}
	report, err := inspect.Inspect(ctx, f, info.Size(), inspect.Options{})
	if err != nil {
		return fmt.Errorf("reading the base image: %w", err)
	}
	switch rejected := report.Err(); {
	case rejected != nil && report.Reason != artifact.ExtendedL2: // which QEMU takes, and CloudStack never sees
		return fmt.Errorf("the base image cannot be used: %w", rejected)
	case report.Format != artifact.QCOW2 && report.Format != artifact.RAW:
		return fmt.Errorf("the base image cannot be used: it is %s; qcow2 and raw disks are taken", report.Format)
	}
	return p.checkDiskSize(report.VirtualSizeBytes)
}

var defaultDiskSize = regexp.MustCompile(`variable "disk_size" \{[^}]*\bdefault\s*=\s*(\d+)`)

// diskMiB is the size of the image's disk, 0 where the recipes are somebody's own and do not tell.
func (p plan) diskMiB() (int64, error) {
	size := p.value("disk_size")
	if size == "" {
		text, err := fs.ReadFile(p.Recipes, "variables.pkr.hcl")
		found := defaultDiskSize.FindSubmatch(text)
		if err != nil || found == nil {
			return 0, nil
		}
		size = string(found[1])
	}
	mib, err := strconv.ParseInt(size, 10, 64)
	if err != nil || mib <= 0 || mib > maxDiskMiB {
		return 0, fmt.Errorf("disk_size is a number of MiB up to %d, not %.40q", maxDiskMiB, size)
	}
	return mib, nil
}

// checkDiskSize makes sure that the disk of the image is not smaller than that which it begins with.
func (p plan) checkDiskSize(base int64) error {
	mib, err := p.diskMiB()
	if err != nil || mib == 0 {
		return err
	}
	if need := disk.RoundUp(base, disk.MiB) / disk.MiB; mib < need {
		return fmt.Errorf("the base image has a disk of %d MiB, and disk_size is %d: give --var disk_size=%d or more", need, mib, need)
	}
	return nil
}

// expectation reads algorithm:hex, or the checksum file at an address.
func expectation(ctx context.Context, f *fetch.Fetcher, source, proof string) (artifact.Digest, error) {
	if !strings.Contains(proof, "://") {
		return artifact.ParseDigest(proof)
	}
	text, err := f.Small(ctx, proof, checksum.MaxBytes)
	if err != nil {
		return artifact.Digest{}, err
	}
	d, err := checksum.ParseSideFile(strings.NewReader(string(text)), fetch.BaseName(source), "")
	if err != nil {
		return artifact.Digest{}, err
	}
	return d, checksum.CheckStrength(d, false)
}

// download keeps the image in the cache under its digest; an image that is there is not fetched again.
func (p plan) download(ctx context.Context, f *fetch.Fetcher, source string, want artifact.Digest) (string, artifact.Digest, error) {
	dir := filepath.Join(p.Cache, "base")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", artifact.Digest{}, err
	}
	target := filepath.Join(dir, string(want.Algorithm)+"-"+want.Hex)
	if digest, err := proven(target, want); err == nil {
		p.Report(Event{Note: "the base image is in the cache"})
		return target, digest, nil
	}
	told := int64(0)
	res, err := f.Fetch(ctx, fetch.Request{
		URLs: []string{source}, Partial: target + ".partial", State: target + ".state", Expect: []artifact.Digest{want},
		Progress: func(done, total int64) {
			if tenth := done * 10 / max(total, 1); total > 0 && tenth > told {
				told = tenth
				p.Report(Event{Note: fmt.Sprintf("%d %% of %d MB", tenth*10, total/1e6)})
			}
		},
	})
	if err != nil {
		return "", artifact.Digest{}, fmt.Errorf("fetching the base image: %w", err)
	}
	if err := os.Remove(target + ".state"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", artifact.Digest{}, err
	}
	return target, res.SHA256, os.Rename(target+".partial", target)
}

// proven hashes a file and compares, unless nothing is expected.
func proven(path string, want artifact.Digest) (artifact.Digest, error) {
	f, err := os.Open(path)
	if err != nil {
		return artifact.Digest{}, fmt.Errorf("reading the base image: %w", err)
	}
	defer f.Close()
	sum := sha256.New()
	out := io.Writer(sum)
	check := sum
	if want.Algorithm != "" && want.Algorithm != artifact.SHA256 {
		check = want.Algorithm.New()
		out = io.MultiWriter(sum, check)
	}
	if _, err := io.Copy(out, f); err != nil {
		return artifact.Digest{}, fmt.Errorf("reading the base image: %w", err)
	}
	if got := hex.EncodeToString(check.Sum(nil)); want.Algorithm != "" && got != want.Hex {
		return artifact.Digest{}, artifact.NewError(artifact.ChecksumMismatch, fmt.Sprintf("the base image has %s %s, not %s", want.Algorithm, got, want.Hex))
	}
	return artifact.Digest{Algorithm: artifact.SHA256, Hex: hex.EncodeToString(sum.Sum(nil))}, nil
}

// mirrored is the address of a file on the mirror, which holds files under the host names that they have on the internet.
func (p plan) mirrored(address string) string {
	_, rest, found := strings.Cut(address, "://")
	if p.PackagesFrom == "" || !found {
		return address
	}
	return p.PackagesFrom + "/" + rest
}
