package convert

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/capcat/capcat/imagecatalog/artifact"
	"github.com/capcat/capcat/imagecatalog/artifact/inspect"
	"github.com/capcat/capcat/imagecatalog/artifact/ova"
)

// Request says what to make.
type Request struct {
	// Source is the disk: a qcow2 image that stands alone, or a raw disk.
	Source string
	// SourceFormat is QCOW2 or RAW; "" looks at the content.
	SourceFormat artifact.Format
	// Target is the file to make. Its name says of what kind it is: .qcow2, .vhd, .vmdk, .ova or .raw, and .bz2 behind it (not
	// behind .ova).
	Target string
	// Overwrite replaces a file that exists; without it that is an error.
	Overwrite bool
	// SideFiles also writes Target.sha256 and Target.sha512.
	SideFiles bool
	// PlainClusters leaves the clusters of a qcow2 as they are. Without it they are deflated, unless the file is compressed as
	// a whole.
	PlainClusters bool
	// Machine is what an OVA says about the machine; its name is made from that of the target when empty.
	Machine ova.Machine
	// Created is the date that a VHD or an OVA bears; a fixed one when zero. The same disk and date give the same bytes.
	Created time.Time
	// MaxVirtualSizeBytes caps the disk that the guest sees; 0 or less means the default of 1 TiB.
	MaxVirtualSizeBytes int64
}

// Result is what was made.
type Result struct {
	// Path is the target.
	Path string
	// Format and Compression are what its name said.
	Format      artifact.Format
	Compression artifact.Compression
	// Bytes is the length of the file, ContentBytes that of the image before compression.
	Bytes, ContentBytes int64
	// VirtualSizeBytes is the disk that the guest sees.
	VirtualSizeBytes int64
	// SHA256 and SHA512 are the digests of the file.
	SHA256, SHA512 artifact.Digest
	// Warnings are what the inspection remarked, without rejecting.
	Warnings []inspect.Finding
}

// Phase is a part of the work.
type Phase string

const (
	// Checking is the inspection of source and result.
	Checking Phase = "Checking"
	// Writing is the image being written; formats with tables in front read the disk twice.
	Writing Phase = "Writing"
	// Compressing is the image being compressed.
	Compressing Phase = "Compressing"
	// Hashing is the digests being computed.
	Hashing Phase = "Hashing"
)

// Progress is told now and then: the phase, and how many bytes of how many are done; total is 0 when unknown. It is called
// by several goroutines.
type Progress func(phase Phase, done, total int64)

// KindOf reads format and compression from the name of a file.
func KindOf(name string) (artifact.Format, artifact.Compression, error) {
	base, c := strings.ToLower(filepath.Base(name)), artifact.None
	if stem, found := strings.CutSuffix(base, ".bz2"); found {
		base, c = stem, artifact.Bzip2
	}
	for _, f := range []artifact.Format{artifact.QCOW2, artifact.VHD, artifact.VMDK, artifact.OVA, artifact.RAW} {
		stem, found := strings.CutSuffix(base, "."+f.Suffix())
		if !found || stem == "" || f == artifact.OVA && c != artifact.None {
			continue
		}
		return f, c, nil
	}
	return "", "", fmt.Errorf("the name %q says no format: it ends in .qcow2, .vhd, .vmdk, .ova or .raw, and .bz2 may follow all but .ova", filepath.Base(name))
}

// stem is the name of the target without directory and suffixes.
func (r Request) stem() string {
	name := filepath.Base(r.Target)
	name = strings.TrimSuffix(name, filepath.Ext(name))
	if f, _, err := KindOf(name); err == nil {
		name = name[:len(name)-len(f.Suffix())-1]
	}
	return name
}
