package inspect

import (
	"context"
	"fmt"
	"io"

	"github.com/capcat/capcat/imagecatalog/artifact"
)

// Options says what the content is meant to be.
type Options struct {
	// Declared is the format it must have; "" takes what is found.
	Declared artifact.Format
	// Hypervisor is who will run it, by CloudStack's name in any case; "" skips the check of the pair.
	Hypervisor string
	// MaxVirtualSizeBytes caps the disk that the guest sees; 0 or less means the default of 1 TiB.
	MaxVirtualSizeBytes int64
}

// Inspect looks at size decompressed bytes. A fault of the content is in the report; the error is for what is no fault of
// the content: a failing read, or a context that ended. It reads nothing but r. Whatever r says, the time is bounded by a
// few passes over it and the memory by some MiB, plus a thousandth of the size for an image with very small clusters.
func Inspect(ctx context.Context, r io.ReaderAt, size int64, o Options) (Report, error) {
	maxSize := artifact.Limits{MaxVirtualSizeBytes: o.MaxVirtualSizeBytes}.WithDefaults().MaxVirtualSizeBytes
	x := &inspection{
		report:     &Report{},
		in:         &content{ctx: ctx, r: r, size: size},
		maxVirtual: uint64(maxSize),
		hypervisor: o.Hypervisor,
	}
	if err := x.run(o.Declared); err != nil {
		return Report{}, err
	}
	x.report.conclude()
	return *x.report, nil
}

// inspection is one run over one image.
type inspection struct {
	report     *Report
	in         *content
	maxVirtual uint64
	hypervisor string
	// inOVA is set for the disk inside an OVA.
	inOVA bool
}

func (x *inspection) run(declared artifact.Format) error {
	if x.in.size == 0 {
		x.report.reject(artifact.EmptyFile, "the file is empty")
		return nil
	}
	found, err := sniff(x.in)
	if err != nil {
		return err
	}
	if x.wrongKind(declared, found) {
		return nil
	}
	x.report.Format = found.format
	if err := x.parse(found); err != nil {
		return err
	}
	if !x.report.Format.FitsHypervisor(x.hypervisor) {
		x.report.reject(artifact.HypervisorMismatch, "%s does not take %s; it takes %s", x.hypervisor, x.report.Format, artifact.Either(artifact.FormatsFor(x.hypervisor)))
	}
	return nil
}

// wrongKind rejects content that is no image, or another one than declared.
func (x *inspection) wrongKind(declared artifact.Format, found kind) bool {
	switch {
	case found.text:
		x.report.reject(artifact.NotAnImage, "the content is a text page: %s", found.name)
	case found.unknown && declared == artifact.RAW:
		return false
	case found.unknown && declared == "":
		x.report.reject(artifact.BadMagic, "the first bytes are those of no image format")
	case found.unknown:
		x.report.reject(artifact.BadMagic, "the first bytes are not those of a %s image, nor of any other", declared)
	case found.format == "":
		x.report.reject(artifact.FormatMismatch, "the content is %s%s", found.name, insteadOf(declared))
	case declared != "" && declared != found.format:
		x.report.Format = found.format
		x.report.reject(artifact.FormatMismatch, "the content is %s%s", found.name, insteadOf(declared))
	default:
		return false
	}
	return true
}

func insteadOf(declared artifact.Format) string {
	if declared == "" {
		return ", which is no image format that CloudStack takes"
	}
	return fmt.Sprintf(", not the declared %s", declared)
}

func (x *inspection) parse(found kind) error {
	switch found.format {
	case artifact.QCOW2:
		return x.qcow2()
	case artifact.VHD:
		return x.vhd(found)
	case artifact.VMDK:
		return x.vmdk(found)
	case artifact.OVA:
		return x.ova()
	default:
		x.report.Format = artifact.RAW
		return x.raw(found)
	}
}

// virtualSize notes the size that the guest sees and rejects one above the cap; false when it did.
func (x *inspection) virtualSize(bytes uint64) bool {
	if bytes < 1<<63 {
		x.report.VirtualSizeBytes = int64(bytes)
	}
	if bytes > x.maxVirtual {
		x.report.reject(artifact.VirtualSizeTooLarge, "the virtual size is %d bytes, above the cap of %d", bytes, x.maxVirtual)
		return false
	}
	return true
}
