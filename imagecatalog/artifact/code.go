package artifact

// Code is the reason of a verdict or failure: one fault, one code. Codes are part of the interface: they are never renamed.
type Code string

// Retry is the retry class that belongs to the code. An unknown code is retried.
func (c Code) Retry() Retry {
	for _, info := range Codes() {
		if info.Code == c {
			return info.Retry
		}
	}
	return RetryBackoff
}

// The codes, by area. Their meaning for people stands in Codes.
const (
	// Content of an image.

	// BackingFile: qcow2 header names a backing file.
	BackingFile Code = "BackingFile"
	// BackingFormatWithoutName: qcow2 names the format of a backing file but no backing file.
	BackingFormatWithoutName Code = "BackingFormatWithoutName"
	// BadArchive: tar archive is damaged: a header fails its checksum or holds an impossible field.
	BadArchive Code = "BadArchive"
	// BadFooterChecksum: VHD footer, its leading copy or the dynamic header fails its checksum.
	BadFooterChecksum Code = "BadFooterChecksum"
	// BadHeader: header field is out of range or contradicts another one.
	BadHeader Code = "BadHeader"
	// BadMagic: first bytes are not those of any image format.
	BadMagic Code = "BadMagic"
	// BadOVF: OVF descriptor is not well-formed, not an OVF envelope or contradicts itself.
	BadOVF Code = "BadOVF"
	// BadTable: entry of a mapping table is misaligned, overlaps metadata or another entry, or has reserved bits set.
	BadTable Code = "BadTable"
	// CapacityMismatch: capacity in the OVF differs from the VMDK header.
	CapacityMismatch Code = "CapacityMismatch"
	// CorruptBit: qcow2 corrupt bit is set.
	CorruptBit Code = "CorruptBit"
	// DescriptorOnlyVMDK: VMDK is a text descriptor whose extents are other files.
	DescriptorOnlyVMDK Code = "DescriptorOnlyVMDK"
	// DifferencingDisk: VHD needs a parent.
	DifferencingDisk Code = "DifferencingDisk"
	// DirtyBit: image was not closed cleanly (qcow2 dirty bit, VMDK unclean flag).
	DirtyBit Code = "DirtyBit"
	// DuplicateEntry: two archive members have one name.
	DuplicateEntry Code = "DuplicateEntry"
	// EmptyFile: file or payload of 0 bytes, or archive without a file.
	EmptyFile Code = "EmptyFile"
	// Encrypted: image or archive member is encrypted.
	Encrypted Code = "Encrypted"
	// ExtendedL2: qcow2 has extended L2 entries, which CloudStack refuses.
	ExtendedL2 Code = "ExtendedL2"
	// ExternalDataFile: image keeps its data, or a part of it, in another file.
	ExternalDataFile Code = "ExternalDataFile"
	// FileSizeMismatch: size of a member differs from what the OVF references state.
	FileSizeMismatch Code = "FileSizeMismatch"
	// FixedVHD: fixed VHD (footer only), which CloudStack refuses.
	FixedVHD Code = "FixedVHD"
	// FormatMismatch: content is another image or archive format than declared, or one that CloudStack does not take.
	FormatMismatch Code = "FormatMismatch"
	// HypervisorMismatch: hypervisor does not take images of this format.
	HypervisorMismatch Code = "HypervisorMismatch"
	// InternalSnapshot: qcow2 carries internal snapshots (hidden data).
	InternalSnapshot Code = "InternalSnapshot"
	// IsoInside: OVA carries an ISO.
	IsoInside Code = "IsoInside"
	// L1OutsideFile: qcow2 L1 table is not (wholly) inside the file.
	L1OutsideFile Code = "L1OutsideFile"
	// LinkEntry: archive member is a symbolic or hard link.
	LinkEntry Code = "LinkEntry"
	// ManifestMismatch: member does not have the digest that the manifest states, or manifest and archive disagree on the members.
	ManifestMismatch Code = "ManifestMismatch"
	// MissingDescriptor: VMDK extent without its descriptor: a part of a split disk.
	MissingDescriptor Code = "MissingDescriptor"
	// MissingDisk: OVF refers to a file that is not in the archive, or to no disk at all.
	MissingDisk Code = "MissingDisk"
	// MissingEndMarker: tar archive lacks the two zero blocks at its end.
	MissingEndMarker Code = "MissingEndMarker"
	// MultiDiskOVA: OVF or archive holds more than one disk.
	MultiDiskOVA Code = "MultiDiskOVA"
	// MultipleFiles: archive holds more than one regular file.
	MultipleFiles Code = "MultipleFiles"
	// MultipleOVF: archive holds more than one OVF descriptor.
	MultipleOVF Code = "MultipleOVF"
	// NotAnImage: content is a text page (HTML, XML, JSON ...), not an image.
	NotAnImage Code = "NotAnImage"
	// NotStreamOptimized: VMDK is not streamOptimized.
	NotStreamOptimized Code = "NotStreamOptimized"
	// OVFNotFirst: OVF descriptor is not the first member.
	OVFNotFirst Code = "OVFNotFirst"
	// OldTar: tar without the ustar magic, refused by CloudStack.
	OldTar Code = "OldTar"
	// ParentHint: VMDK descriptor names a parent.
	ParentHint Code = "ParentHint"
	// PathTraversal: archive member name leaves the directory.
	PathTraversal Code = "PathTraversal"
	// QemuCreatedVHD: dynamic VHD written by qemu: reported as unusable on XenServer.
	QemuCreatedVHD Code = "QemuCreatedVHD"
	// SignedNotVerified: OVA carries a certificate; its signature is not verified.
	SignedNotVerified Code = "SignedNotVerified"
	// SparseEntry: archive member is stored sparse.
	SparseEntry Code = "SparseEntry"
	// SpecialEntry: archive member is a device, a pipe or of an unknown type.
	SpecialEntry Code = "SpecialEntry"
	// SubdirectoryEntry: archive member lies more than one directory deep.
	SubdirectoryEntry Code = "SubdirectoryEntry"
	// TooManyEntries: archive or table has more entries than a reader should follow.
	TooManyEntries Code = "TooManyEntries"
	// TrailingGarbage: bytes after the end of the stream, archive or image.
	TrailingGarbage Code = "TrailingGarbage"
	// TruncatedHeader: file ends inside the header.
	TruncatedHeader Code = "TruncatedHeader"
	// TruncatedImage: file ends before the data its own tables or footer speak of.
	TruncatedImage Code = "TruncatedImage"
	// UnalignedSize: size of the raw disk is no multiple of 512 bytes.
	UnalignedSize Code = "UnalignedSize"
	// UnknownContent: raw disk without a partition table or file system that we know.
	UnknownContent Code = "UnknownContent"
	// UnknownGuestOS: guest OS id in the OVF is not a known one.
	UnknownGuestOS Code = "UnknownGuestOS"
	// UnknownIncompatBit: qcow2 incompatible feature bit that nobody defined.
	UnknownIncompatBit Code = "UnknownIncompatBit"
	// UnreferencedFile: archive member that the OVF does not refer to.
	UnreferencedFile Code = "UnreferencedFile"
	// UnsupportedVersion: format version that no reader here knows.
	UnsupportedVersion Code = "UnsupportedVersion"
	// UnusualDigestName: OVA manifest names the algorithm in a way some products refuse.
	UnusualDigestName Code = "UnusualDigestName"
	// VirtualSizeTooLarge: virtual size above the cap.
	VirtualSizeTooLarge Code = "VirtualSizeTooLarge"
	// WeakManifestDigest: OVA manifest uses SHA-1 or MD5.
	WeakManifestDigest Code = "WeakManifestDigest"
	// ZstdCompression: qcow2 clusters compressed with zstd, needs qemu 5.1 on the hosts.
	ZstdCompression Code = "ZstdCompression"

	// Outer compression.

	// CorruptStream: compressed stream fails its own integrity check or cannot be decoded.
	CorruptStream Code = "CorruptStream"
	// DecompressionBomb: output or decoder window exceeds its cap.
	DecompressionBomb Code = "DecompressionBomb"
	// DoubleCompressed: payload is itself a compressed stream.
	DoubleCompressed Code = "DoubleCompressed"
	// TruncatedStream: compressed stream ends too early.
	TruncatedStream Code = "TruncatedStream"

	// Checksums.

	// BadChecksumForm: digest or algorithm in the spec is malformed.
	BadChecksumForm Code = "BadChecksumForm"
	// ChecksumMismatch: well-formed, but not the digest of this file.
	ChecksumMismatch Code = "ChecksumMismatch"
	// NoEntry: checksum list has no line for the wanted file.
	NoEntry Code = "NoEntry"
	// NotAChecksumFile: no usable digest in the checksum file.
	NotAChecksumFile Code = "NotAChecksumFile"
	// WeakAlgorithm: MD5 or SHA-1 without an explicit opt-in.
	WeakAlgorithm Code = "WeakAlgorithm"
	// NoChecksum: source has no checksum and no explicit opt-out.
	NoChecksum Code = "NoChecksum"

	// Sources.

	// InvalidURL: address is malformed or of a scheme that is not offered.
	InvalidURL Code = "InvalidURL"
	// SourceBlocked: address is link-local, loopback, a metadata service or otherwise not allowed.
	SourceBlocked Code = "SourceBlocked"
	// SourceEncoded: server sent a content encoding that nobody asked for.
	SourceEncoded Code = "SourceEncoded"
	// SourceForbidden: server wants or refuses credentials (401, 403, 407).
	SourceForbidden Code = "SourceForbidden"
	// SourceInterrupted: transfer stopped before the end.
	SourceInterrupted Code = "SourceInterrupted"
	// SourceMissing: server does not have the file (404, 410).
	SourceMissing Code = "SourceMissing"
	// SourceRedirects: too many redirects, or one from https to http.
	SourceRedirects Code = "SourceRedirects"
	// SourceRefused: server refused the request with another 4xx status.
	SourceRefused Code = "SourceRefused"
	// SourceStalled: no byte within the idle timeout.
	SourceStalled Code = "SourceStalled"
	// SourceTLS: certificate of the server is not trusted.
	SourceTLS Code = "SourceTLS"
	// SourceUnreachable: network fault, HTTP 5xx or 429.
	SourceUnreachable Code = "SourceUnreachable"
	// SourceUnresolvable: host name does not resolve.
	SourceUnresolvable Code = "SourceUnresolvable"
	// TooLarge: file is larger than the download cap.
	TooLarge Code = "TooLarge"

	// This machine.

	// Canceled: work was cancelled or ran out of time.
	Canceled Code = "Canceled"
	// NoSpace: disk has no room for the file.
	NoSpace Code = "NoSpace"
	// StoreFailed: reading or writing the local store failed.
	StoreFailed Code = "StoreFailed"
)
