package importer

import (
	"github.com/capcat/capcat/imagecatalog/artifact"
	"github.com/capcat/capcat/imagecatalog/artifact/inspect"
)

// Checksum says how the downloaded bytes are proven. Exactly one of Digest, URL and InsecureSkip must be set.
type Checksum struct {
	// Digest is of the bytes as downloaded, before decompression.
	Digest *artifact.Digest
	// URL names a side file with the digest: GNU, BSD, OpenSSL, bare or a list. At most 1 MiB of it is read.
	URL string
	// Algorithm narrows what is taken from the side file; "" takes the strongest digest it has.
	Algorithm artifact.Algorithm
	// AllowWeak lets MD5 and SHA-1 prove the bytes; Result.WeakChecksum is then true.
	AllowWeak bool
	// InsecureSkip takes the bytes unproven.
	InsecureSkip bool
}

// Spec says what to import. Two equal specs are one piece of work.
type Spec struct {
	// URLs are mirrors of one file, tried in order; 1 to 16, at most 2048 bytes each.
	URLs []string
	// Checksum proves the bytes.
	Checksum Checksum
	// Format is what the content must be; "" takes what is found.
	Format artifact.Format
	// Hypervisor is who will run it, by CloudStack's name; "" skips the checks that depend on it.
	Hypervisor string
	// Limits bounds sizes; zero fields mean the defaults.
	Limits artifact.Limits
}

// Result describes a verified image whose bytes are in the store.
type Result struct {
	// DownloadDigest is the SHA-256 of the bytes as downloaded.
	DownloadDigest artifact.Digest
	// ContentDigest is the SHA-256 of the decompressed bytes; equal to DownloadDigest when nothing was compressed.
	ContentDigest artifact.Digest
	// DownloadBytes is the size as downloaded.
	DownloadBytes int64
	// ContentBytes is the size after decompression.
	ContentBytes int64
	// VirtualSizeBytes is the size of the disk that the guest sees.
	VirtualSizeBytes int64
	// Format is what the content is.
	Format artifact.Format
	// Compression is the outer layer of the download.
	Compression artifact.Compression
	// MirrorUsed is the URL that delivered, without user info, query and fragment; "" when the bytes were already known by digest.
	MirrorUsed string
	// SourceRedirected says that the source answered with a redirect, which CloudStack would not follow.
	SourceRedirected bool
	// Warnings are what the inspector found without rejecting.
	Warnings []inspect.Finding
	// WeakChecksum says that only MD5 or SHA-1, or nothing at all, proved the bytes.
	WeakChecksum bool
}

// Phase is what an import does at the moment.
type Phase string

const (
	// Fetching is reading from the source, while what arrived is already hashed and expanded.
	Fetching Phase = "Fetching"
	// Verifying is comparing digests, and reading the bytes that an earlier run left.
	Verifying Phase = "Verifying"
	// Expanding is decompressing what is left when the last byte has arrived.
	Expanding Phase = "Expanding"
	// Inspecting is looking into the content.
	Inspecting Phase = "Inspecting"
)

// Progress is a moment of an import.
type Progress struct {
	// Phase is what is being done.
	Phase Phase
	// Bytes are the downloaded bytes so far, those of earlier runs included.
	Bytes int64
	// TotalBytes is the size of the download, 0 when the source does not say.
	TotalBytes int64
	// BytesPerSecond is the speed of the last seconds.
	BytesPerSecond int64
}
