package convert

import (
	"context"
	"crypto/sha256"
	"crypto/sha512"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/capcat/capcat/imagecatalog/artifact"
	"github.com/capcat/capcat/imagecatalog/artifact/bzip2"
	"github.com/capcat/capcat/imagecatalog/artifact/disk"
	"github.com/capcat/capcat/imagecatalog/artifact/inspect"
	"github.com/capcat/capcat/imagecatalog/artifact/ova"
	"github.com/capcat/capcat/imagecatalog/artifact/qcow2"
	"github.com/capcat/capcat/imagecatalog/artifact/vhd"
	"github.com/capcat/capcat/imagecatalog/artifact/vmdk"
)

// File makes the target. It is written beside its place under a hidden name, inspected, synced and only then renamed: a run
// that fails or is stopped leaves nothing under the final name. A fault of source or result is an *artifact.Error.
func File(ctx context.Context, r Request, progress Progress) (Result, error) {
	if progress == nil {
		progress = func(Phase, int64, int64) {}
	}
	c := &conversion{Request: r, progress: progress}
	var err error
	if c.result.Format, c.result.Compression, err = KindOf(r.Target); err != nil {
		return Result{}, err
	}
	c.result.Path = r.Target
	if c.Machine.Name == "" {
		c.Machine.Name = r.stem()
	}
	if _, err := os.Lstat(r.Target); !r.Overwrite && !errors.Is(err, fs.ErrNotExist) {
		return Result{}, fmt.Errorf("%s: %w", r.Target, errors.Join(fs.ErrExist, err))
	}
	if err := c.run(ctx); err != nil {
		return Result{}, fmt.Errorf("making %s: %w", filepath.Base(r.Target), classify(err))
	}
	return c.result, nil
}

// classify names the fault that a person can do something about.
func classify(err error) error {
	if errors.Is(err, syscall.ENOSPC) {
		return artifact.WrapError(artifact.NoSpace, "the disk is full", err)
	}
	return err
}

// conversion is one run.
type conversion struct {
	Request
	progress Progress
	result   Result
}

func (c *conversion) run(ctx context.Context) (err error) {
	info, err := os.Stat(c.Source)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() { // opening a pipe would wait
		return fmt.Errorf("%s is no regular file", c.Source)
	}
	source, err := os.Open(c.Source)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	img, err := c.open(ctx, source)
	if err != nil {
		return fmt.Errorf("reading %s: %w", filepath.Base(c.Source), err)
	}
	image, err := newPartial(c.Target)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, image.discard()) }()
	if err := c.write(ctx, image.File, watched{img, c.progress}); err != nil {
		return err
	}
	if err := c.check(ctx, image.File); err != nil {
		return err
	}
	if c.result.Compression == artifact.None {
		return c.keep(ctx, image)
	}
	packed, err := newPartial(c.Target)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, packed.discard()) }()
	if err := bzip2.Compress(ctx, packed, c.metered(image.File, Compressing)); err != nil {
		return err
	}
	return c.keep(ctx, packed)
}

// open inspects the source and gives the disk in it.
func (c *conversion) open(ctx context.Context, f *os.File) (disk.Image, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	c.progress(Checking, 0, 0)
	report, err := inspect.Inspect(ctx, f, info.Size(), inspect.Options{Declared: c.SourceFormat, MaxVirtualSizeBytes: c.MaxVirtualSizeBytes})
	if err == nil {
		err = report.Err()
	}
	if err != nil {
		return nil, err
	}
	switch report.Format {
	case artifact.QCOW2:
		return qcow2.Open(f)
	case artifact.RAW:
		img, err := disk.Raw(f, info.Size())
		if err != nil {
			return nil, artifact.WrapError(artifact.UnalignedSize, "the raw disk ends inside a sector", err)
		}
		return img, nil
	default:
		return nil, artifact.NewError(artifact.FormatMismatch, fmt.Sprintf("the disk is %s; qcow2 and raw disks are read", report.Format))
	}
}

// write writes the image in the format asked for.
func (c *conversion) write(ctx context.Context, f *os.File, img disk.Image) error {
	switch c.result.Format {
	case artifact.QCOW2:
		if c.PlainClusters || c.result.Compression != artifact.None {
			return qcow2.Write(ctx, f, img)
		}
		return qcow2.WriteCompressed(ctx, f, img)
	case artifact.VHD:
		return vhd.Write(ctx, f, img, vhd.Options{Created: c.Created})
	case artifact.VMDK:
		_, err := vmdk.Write(ctx, f, img, filepath.Base(c.Target))
		return err
	case artifact.OVA:
		return ova.Write(ctx, f, img, ova.Options{Machine: c.Machine, Created: c.Created})
	default:
		return writeRaw(ctx, f, img)
	}
}

// writeRaw writes what is not zero at its place and leaves holes for the rest.
func writeRaw(ctx context.Context, f *os.File, img disk.Image) error {
	if err := f.Truncate(img.Size()); err != nil {
		return err
	}
	return disk.Each(ctx, img, func(piece int64, data []byte) (struct{}, error) {
		at := piece * disk.PieceSize
		_, err := f.WriteAt(data[:min(int64(len(data)), img.Size()-at)], at)
		return struct{}{}, err
	}, func(int64, struct{}) error { return nil })
}

// check inspects the image before anybody else sees it.
func (c *conversion) check(ctx context.Context, f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	c.progress(Checking, 0, 0)
	report, err := inspect.Inspect(ctx, f, info.Size(), inspect.Options{Declared: c.result.Format, MaxVirtualSizeBytes: c.MaxVirtualSizeBytes})
	if err == nil {
		err = report.Err()
	}
	if err != nil {
		return fmt.Errorf("the result does not pass its inspection: %w", err)
	}
	c.result.ContentBytes, c.result.VirtualSizeBytes, c.result.Warnings = info.Size(), report.VirtualSizeBytes, report.Warnings()
	return nil
}

// metered reads a file from its begin and tells the progress.
func (c *conversion) metered(f *os.File, phase Phase) io.Reader {
	size := c.result.ContentBytes
	if info, err := f.Stat(); err == nil {
		size = info.Size()
	}
	return &meter{r: io.NewSectionReader(f, 0, size), phase: phase, total: size, progress: c.progress}
}

// keep hashes the file and gives it its final name.
func (c *conversion) keep(ctx context.Context, p *partial) error {
	h256, h512 := sha256.New(), sha512.New()
	n, err := io.Copy(io.MultiWriter(h256, h512), stoppable{ctx, c.metered(p.File, Hashing)})
	if err != nil {
		return err
	}
	c.result.Bytes = n
	c.result.SHA256, c.result.SHA512 = artifact.DigestOf(artifact.SHA256, h256), artifact.DigestOf(artifact.SHA512, h512)
	if err := ctx.Err(); err != nil {
		return err
	}
	if !c.SideFiles {
		return p.keep(c.Target)
	}
	// They come first: an image that is there has them.
	for _, d := range []artifact.Digest{c.result.SHA256, c.result.SHA512} {
		if err := writeSideFile(c.Target, d); err != nil {
			return err
		}
	}
	if err := p.keep(c.Target); err != nil {
		return errors.Join(err, os.Remove(sideFile(c.Target, artifact.SHA256)), os.Remove(sideFile(c.Target, artifact.SHA512)))
	}
	return nil
}

func sideFile(target string, a artifact.Algorithm) string { return target + "." + string(a) }

// writeSideFile writes the digest as sha256sum and sha512sum do.
func writeSideFile(target string, d artifact.Digest) (err error) {
	name := sideFile(target, d.Algorithm)
	p, err := newPartial(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.discard()) }()
	if _, err := fmt.Fprintf(p, "%s  %s\n", d.Hex, filepath.Base(target)); err != nil {
		return err
	}
	return p.keep(name)
}
