package artifact

import "slices"

// Area groups the codes by who finds them.
type Area string

const (
	// AreaImage is the inspector.
	AreaImage Area = "image"
	// AreaCompression is the decompressor.
	AreaCompression Area = "compression"
	// AreaChecksum is the comparison of digests.
	AreaChecksum Area = "checksum"
	// AreaSource is the fetcher.
	AreaSource Area = "source"
	// AreaMachine is the local disk and process.
	AreaMachine Area = "machine"
)

// CodeInfo explains one code.
type CodeInfo struct {
	// Code is the reason.
	Code Code
	// Area is who finds it.
	Area Area
	// Retry is the class every error with this code has.
	Retry Retry
	// Meaning is a short sentence without a full stop.
	Meaning string
}

// Codes lists every code by area.
func Codes() []CodeInfo {
	return slices.Concat(diskCodes(), archiveCodes(), streamCodes(), checksumCodes(), sourceCodes(), machineCodes())
}

// diskCodes are what is found in disk images.
func diskCodes() []CodeInfo {
	return []CodeInfo{
		{BackingFile, AreaImage, RetryNever, "qcow2 header names a backing file"},
		{BackingFormatWithoutName, AreaImage, RetryNever, "qcow2 names the format of a backing file but no backing file"},
		{BadFooterChecksum, AreaImage, RetryNever, "VHD footer, its leading copy or the dynamic header fails its checksum"},
		{BadHeader, AreaImage, RetryNever, "header field is out of range or contradicts another one"},
		{BadMagic, AreaImage, RetryNever, "first bytes are not those of any image format"},
		{BadTable, AreaImage, RetryNever, "entry of a mapping table is misaligned, overlaps metadata or another entry, or has reserved bits set"},
		{CorruptBit, AreaImage, RetryNever, "qcow2 corrupt bit is set"},
		{DescriptorOnlyVMDK, AreaImage, RetryNever, "VMDK is a text descriptor whose extents are other files"},
		{DifferencingDisk, AreaImage, RetryNever, "VHD needs a parent"},
		{DirtyBit, AreaImage, RetryNever, "image was not closed cleanly (qcow2 dirty bit, VMDK unclean flag)"},
		{EmptyFile, AreaImage, RetryNever, "file or payload of 0 bytes, or archive without a file"},
		{Encrypted, AreaImage, RetryNever, "image or archive member is encrypted"},
		{ExtendedL2, AreaImage, RetryNever, "qcow2 has extended L2 entries, which CloudStack refuses"},
		{ExternalDataFile, AreaImage, RetryNever, "image keeps its data, or a part of it, in another file"},
		{FixedVHD, AreaImage, RetryNever, "fixed VHD (footer only), which CloudStack refuses"},
		{FormatMismatch, AreaImage, RetryNever, "content is another image or archive format than declared, or one that CloudStack does not take"},
		{HypervisorMismatch, AreaImage, RetryNever, "hypervisor does not take images of this format"},
		{InternalSnapshot, AreaImage, RetryNever, "qcow2 carries internal snapshots (hidden data)"},
		{L1OutsideFile, AreaImage, RetryNever, "qcow2 L1 table is not (wholly) inside the file"},
		{MissingDescriptor, AreaImage, RetryNever, "VMDK extent without its descriptor: a part of a split disk"},
		{NotAnImage, AreaImage, RetryNever, "content is a text page (HTML, XML, JSON ...), not an image"},
		{NotStreamOptimized, AreaImage, RetryNever, "VMDK is not streamOptimized"},
		{ParentHint, AreaImage, RetryNever, "VMDK descriptor names a parent"},
		{QemuCreatedVHD, AreaImage, RetryNever, "dynamic VHD written by qemu: reported as unusable on XenServer"},
		{TooManyEntries, AreaImage, RetryNever, "archive or table has more entries than a reader should follow"},
		{TrailingGarbage, AreaImage, RetryNever, "bytes after the end of the stream, archive or image"},
		{TruncatedHeader, AreaImage, RetryNever, "file ends inside the header"},
		{TruncatedImage, AreaImage, RetryNever, "file ends before the data its own tables or footer speak of"},
		{UnalignedSize, AreaImage, RetryNever, "size of the raw disk is no multiple of 512 bytes"},
		{UnknownContent, AreaImage, RetryNever, "raw disk without a partition table or file system that we know"},
		{UnknownIncompatBit, AreaImage, RetryNever, "qcow2 incompatible feature bit that nobody defined"},
		{UnsupportedVersion, AreaImage, RetryNever, "format version that no reader here knows"},
		{VirtualSizeTooLarge, AreaImage, RetryNever, "virtual size above the cap"},
		{ZstdCompression, AreaImage, RetryNever, "qcow2 clusters compressed with zstd, needs qemu 5.1 on the hosts"},
	}
}

// archiveCodes are what is found in OVA and zip archives.
func archiveCodes() []CodeInfo {
	return []CodeInfo{
		{BadArchive, AreaImage, RetryNever, "tar archive is damaged: a header fails its checksum or holds an impossible field"},
		{BadOVF, AreaImage, RetryNever, "OVF descriptor is not well-formed, not an OVF envelope or contradicts itself"},
		{CapacityMismatch, AreaImage, RetryNever, "capacity in the OVF differs from the VMDK header"},
		{DuplicateEntry, AreaImage, RetryNever, "two archive members have one name"},
		{FileSizeMismatch, AreaImage, RetryNever, "size of a member differs from what the OVF references state"},
		{IsoInside, AreaImage, RetryNever, "OVA carries an ISO"},
		{LinkEntry, AreaImage, RetryNever, "archive member is a symbolic or hard link"},
		{ManifestMismatch, AreaImage, RetryNever, "member does not have the digest that the manifest states, or manifest and archive disagree on the members"},
		{MissingDisk, AreaImage, RetryNever, "OVF refers to a file that is not in the archive, or to no disk at all"},
		{MissingEndMarker, AreaImage, RetryNever, "tar archive lacks the two zero blocks at its end"},
		{MultiDiskOVA, AreaImage, RetryNever, "OVF or archive holds more than one disk"},
		{MultipleFiles, AreaImage, RetryNever, "archive holds more than one regular file"},
		{MultipleOVF, AreaImage, RetryNever, "archive holds more than one OVF descriptor"},
		{OVFNotFirst, AreaImage, RetryNever, "OVF descriptor is not the first member"},
		{OldTar, AreaImage, RetryNever, "tar without the ustar magic, refused by CloudStack"},
		{PathTraversal, AreaImage, RetryNever, "archive member name leaves the directory"},
		{SignedNotVerified, AreaImage, RetryNever, "OVA carries a certificate; its signature is not verified"},
		{SparseEntry, AreaImage, RetryNever, "archive member is stored sparse"},
		{SpecialEntry, AreaImage, RetryNever, "archive member is a device, a pipe or of an unknown type"},
		{SubdirectoryEntry, AreaImage, RetryNever, "archive member lies more than one directory deep"},
		{UnknownGuestOS, AreaImage, RetryNever, "guest OS id in the OVF is not a known one"},
		{UnreferencedFile, AreaImage, RetryNever, "archive member that the OVF does not refer to"},
		{UnusualDigestName, AreaImage, RetryNever, "OVA manifest names the algorithm in a way some products refuse"},
		{WeakManifestDigest, AreaImage, RetryNever, "OVA manifest uses SHA-1 or MD5"},
	}
}

// streamCodes are what is found while decompressing.
func streamCodes() []CodeInfo {
	return []CodeInfo{
		{CorruptStream, AreaCompression, RetryNever, "compressed stream fails its own integrity check or cannot be decoded"},
		{DecompressionBomb, AreaCompression, RetryNever, "output or decoder window exceeds its cap"},
		{DoubleCompressed, AreaCompression, RetryNever, "payload is itself a compressed stream"},
		{TruncatedStream, AreaCompression, RetryNever, "compressed stream ends too early"},
	}
}

// checksumCodes are about digests and the files that hold them.
func checksumCodes() []CodeInfo {
	return []CodeInfo{
		{BadChecksumForm, AreaChecksum, RetryNever, "digest or algorithm in the spec is malformed"},
		{ChecksumMismatch, AreaChecksum, RetryNever, "well-formed, but not the digest of this file"},
		{NoEntry, AreaChecksum, RetryNever, "checksum list has no line for the wanted file"},
		{NotAChecksumFile, AreaChecksum, RetryNever, "no usable digest in the checksum file"},
		{WeakAlgorithm, AreaChecksum, RetryNever, "MD5 or SHA-1 without an explicit opt-in"},
		{NoChecksum, AreaChecksum, RetryNever, "source has no checksum and no explicit opt-out"},
	}
}

// sourceCodes are about the way to the bytes.
func sourceCodes() []CodeInfo {
	return []CodeInfo{
		{InvalidURL, AreaSource, RetryNever, "address is malformed or of a scheme that is not offered"},
		{SourceBlocked, AreaSource, RetryNever, "address is link-local, loopback, a metadata service or otherwise not allowed"},
		{SourceEncoded, AreaSource, RetryNever, "server sent a content encoding that nobody asked for"},
		{SourceForbidden, AreaSource, RetrySlow, "server wants or refuses credentials (401, 403, 407)"},
		{SourceInterrupted, AreaSource, RetryBackoff, "transfer stopped before the end"},
		{SourceMissing, AreaSource, RetrySlow, "server does not have the file (404, 410)"},
		{SourceRedirects, AreaSource, RetryNever, "too many redirects, or one from https to http"},
		{SourceRefused, AreaSource, RetrySlow, "server refused the request with another 4xx status"},
		{SourceStalled, AreaSource, RetryBackoff, "no byte within the idle timeout"},
		{SourceTLS, AreaSource, RetrySlow, "certificate of the server is not trusted"},
		{SourceUnreachable, AreaSource, RetryBackoff, "network fault, HTTP 5xx or 429"},
		{SourceUnresolvable, AreaSource, RetrySlow, "host name does not resolve"},
		{TooLarge, AreaSource, RetryNever, "file is larger than the download cap"},
	}
}

// machineCodes are about this process and its disk.
func machineCodes() []CodeInfo {
	return []CodeInfo{
		{Canceled, AreaMachine, RetryBackoff, "work was cancelled or ran out of time"},
		{NoSpace, AreaMachine, RetryBackoff, "disk has no room for the file"},
		{StoreFailed, AreaMachine, RetryBackoff, "reading or writing the local store failed"},
	}
}
