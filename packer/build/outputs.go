package build

import (
	"context"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/capcat/capcat/imagecatalog/artifact"
	"github.com/capcat/capcat/imagecatalog/artifact/convert"
	"github.com/capcat/capcat/imagecatalog/artifact/inspect"
	"github.com/capcat/capcat/imagecatalog/artifact/ova"
)

// convert makes the outputs in the folder. Each was inspected before it got its name.
func (m machine) convert(ctx context.Context, disk, dir string) (map[string]convert.Result, error) {
	made := map[string]convert.Result{}
	for _, suffix := range m.Outputs {
		m.Report(Event{Step: suffix})
		target := filepath.Join(dir, m.Name+"."+suffix)
		var result convert.Result
		var err error
		if suffix == artifact.QCOW2.Suffix() {
			result, err = m.shrink(ctx, disk, target)
		} else {
			result, err = convert.File(ctx, convert.Request{
				Source: disk, SourceFormat: artifact.QCOW2, Target: target, SideFiles: true,
				Machine: ova.Machine{Name: m.Name, Guest: ova.GuestFor(m.OS)}, Created: time.Now(),
			}, nil)
		}
		if err != nil {
			return nil, err
		}
		for _, w := range result.Warnings {
			m.Report(Event{Note: w.Message})
		}
		made[suffix] = result
	}
	return made, nil
}

// shrink makes a qcow2 whose clusters are compressed, which a third of the bytes do, and which CloudStack takes without unpacking.
// It is the one output that qemu-img writes.
func (m machine) shrink(ctx context.Context, disk, target string) (convert.Result, error) {
	cmd := exec.CommandContext(ctx, m.tools.image, "convert", "-f", "qcow2", "-O", "qcow2", "-c", "-o", "compat=1.1", disk, target)
	if text, err := cmd.CombinedOutput(); err != nil {
		return convert.Result{}, fmt.Errorf("making %s: %w: %s", filepath.Base(target), err, firstLine(text))
	}
	f, err := os.Open(target)
	if err != nil {
		return convert.Result{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return convert.Result{}, err
	}
	report, err := inspect.Inspect(ctx, f, info.Size(), inspect.Options{Declared: artifact.QCOW2})
	if err == nil {
		err = report.Err()
	}
	if err != nil {
		return convert.Result{}, fmt.Errorf("inspecting %s: %w", filepath.Base(target), err)
	}
	result := convert.Result{
		Path: target, Format: artifact.QCOW2, Compression: artifact.None, Bytes: info.Size(), ContentBytes: info.Size(),
		VirtualSizeBytes: report.VirtualSizeBytes, Warnings: report.Warnings(),
	}
	result.SHA256, result.SHA512, err = vouch(target, io.NewSectionReader(f, 0, info.Size()))
	return result, err
}

// vouch writes the side files of a file.
func vouch(path string, content io.Reader) (short, long artifact.Digest, err error) {
	h256, h512 := sha256.New(), sha512.New()
	if _, err := io.Copy(io.MultiWriter(h256, h512), content); err != nil {
		return short, long, fmt.Errorf("reading %s: %w", filepath.Base(path), err)
	}
	short = artifact.Digest{Algorithm: artifact.SHA256, Hex: hex.EncodeToString(h256.Sum(nil))}
	long = artifact.Digest{Algorithm: artifact.SHA512, Hex: hex.EncodeToString(h512.Sum(nil))}
	for _, d := range []artifact.Digest{short, long} {
		line := fmt.Sprintf("%s  %s\n", d.Hex, filepath.Base(path))
		if err := os.WriteFile(path+"."+string(d.Algorithm), []byte(line), 0o644); err != nil {
			return short, long, err
		}
	}
	return short, long, nil
}
