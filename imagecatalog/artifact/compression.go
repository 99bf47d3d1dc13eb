package artifact

// Compression is the outer layer of a downloaded file.
type Compression string

const (
	// None is a file that is not compressed.
	None Compression = "none"
	// Bzip2 is one or several bzip2 streams.
	Bzip2 Compression = "bzip2"
	// Gzip is one or several gzip members.
	Gzip Compression = "gzip"
	// XZ is one or several xz streams.
	XZ Compression = "xz"
	// Zstd is one or several zstd frames.
	Zstd Compression = "zstd"
	// Zip is a zip archive of exactly one regular file.
	Zip Compression = "zip"
)

// Suffix is the usual file name suffix without the dot, "" for none.
func (c Compression) Suffix() string {
	switch c {
	case Bzip2:
		return "bz2"
	case Gzip:
		return "gz"
	case XZ:
		return "xz"
	case Zstd:
		return "zst"
	case Zip:
		return "zip"
	default:
		return ""
	}
}
