package ova

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed" // the descriptor
	"encoding/xml"
	"errors"
	"fmt"
	"hash"
	"io"
	"math"
	"strings"
	"text/template"
	"time"

	"github.com/capcat/capcat/imagecatalog/artifact/disk"
	"github.com/capcat/capcat/imagecatalog/artifact/vmdk"
)

//go:embed machine.ovf
var descriptorText string

const (
	block = 512
	// maxUSTAR is the longest member that a header of the plain kind can hold.
	maxUSTAR = 8<<30 - 1
)

// Options are what does not follow from the disk.
type Options struct {
	// Machine is what the descriptor says.
	Machine Machine
	// Created is the date of the members; 1970-01-01 when zero, so that the same disk gives the same file.
	Created time.Time
}

// VirtualSize is the size that a guest sees of a disk of so many bytes: whole MiB.
func VirtualSize(size int64) int64 { return vmdk.VirtualSize(size) }

// Write writes the appliance: a ustar archive of descriptor, SHA-256 manifest and streamOptimized disk, in this order, with
// names made from that of the machine. It reads the disk once, writes the disk of the appliance at its place, and what
// stands in front of it at the end, so that no second copy is needed. W is at its begin.
func Write(ctx context.Context, w io.WriteSeeker, img disk.Image, o Options) error {
	machine, err := o.Machine.complete()
	if err != nil {
		return err
	}
	a := &appliance{Machine: machine, Disk: machine.Name + "-disk1.vmdk", Capacity: VirtualSize(img.Size()), created: o.Created, sum: sha256.New()}
	if a.created.IsZero() {
		a.created = time.Unix(0, 0)
	}
	// The longest numbers there are say how much room the head takes.
	a.DiskSize, a.Populated = math.MaxInt64, math.MaxInt64
	longest, err := a.describe()
	if err != nil {
		return err
	}
	a.room = len(longest)
	if _, err := w.Seek(a.headSize(), io.SeekStart); err != nil {
		return fmt.Errorf("writing the OVA: %w", err)
	}
	written, err := vmdk.Write(ctx, io.MultiWriter(w, a.sum), img, a.Disk)
	if err != nil {
		return err
	}
	a.DiskSize, a.Populated = written.Bytes, written.PopulatedBytes
	if err := a.finish(w); err != nil {
		return fmt.Errorf("writing the OVA: %w", err)
	}
	return nil
}

// appliance is what the descriptor is made from.
type appliance struct {
	Machine
	Disk                          string
	Capacity, DiskSize, Populated int64

	created time.Time
	room    int // length of the descriptor, which is filled up to it
	sum     hash.Hash
}

// headSize is how much stands in front of the disk: three headers, descriptor and manifest.
func (a *appliance) headSize() int64 {
	manifest := a.manifest(nil)
	return 3*block + disk.RoundUp(int64(a.room), block) + disk.RoundUp(int64(len(manifest)), block)
}

// describe makes the descriptor, and fills it up with line ends to the room that it has.
func (a *appliance) describe() ([]byte, error) {
	t, err := template.New("ovf").Funcs(template.FuncMap{"xml": escape}).Parse(descriptorText)
	if err != nil {
		return nil, fmt.Errorf("reading the descriptor: %w", err)
	}
	var b bytes.Buffer
	if err := t.Execute(&b, a); err != nil {
		return nil, fmt.Errorf("describing the machine: %w", err)
	}
	b.WriteString(strings.Repeat("\n", max(a.room-b.Len(), 0)))
	return b.Bytes(), nil
}

func escape(text string) (string, error) {
	var b strings.Builder
	err := xml.EscapeText(&b, []byte(text))
	return b.String(), err
}

// manifest lists the digests of descriptor and disk.
func (a *appliance) manifest(descriptor []byte) []byte {
	return fmt.Appendf(nil, "SHA256(%s.ovf)= %x\nSHA256(%s)= %x\n", a.Name, sha256.Sum256(descriptor), a.Disk, a.sum.Sum(nil))
}

// finish writes the end of the archive and then its head.
func (a *appliance) finish(w io.WriteSeeker) error {
	head, err := a.head()
	if err != nil {
		return err
	}
	if int64(len(head)) != a.headSize() {
		return errors.New("the descriptor does not fit its place")
	}
	if _, err := w.Write(make([]byte, 2*block)); err != nil {
		return err
	}
	if _, err := w.Seek(0, io.SeekStart); err != nil {
		return err
	}
	_, err = w.Write(head)
	return err
}

// head is everything in front of the disk's bytes.
func (a *appliance) head() ([]byte, error) {
	descriptor, err := a.describe()
	if err != nil {
		return nil, err
	}
	manifest := a.manifest(descriptor)
	var b bytes.Buffer
	t := tar.NewWriter(&b)
	for _, member := range []struct {
		name string
		data []byte
	}{{a.Name + ".ovf", descriptor}, {a.Name + ".mf", manifest}} {
		if err := t.WriteHeader(a.entry(member.name, int64(len(member.data)))); err != nil {
			return nil, err
		}
		if _, err := t.Write(member.data); err != nil {
			return nil, err
		}
	}
	if err := t.WriteHeader(a.entry(a.Disk, a.DiskSize)); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// entry is the header of a member. Only a disk above 8 GiB needs more than the plain kind can say; the kind for it is one
// that CloudStack reads too.
func (a *appliance) entry(name string, size int64) *tar.Header {
	h := &tar.Header{Name: name, Size: size, Mode: 0o644, ModTime: a.created, Format: tar.FormatUSTAR}
	if size > maxUSTAR {
		h.Format = tar.FormatGNU
	}
	return h
}
