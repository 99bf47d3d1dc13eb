package artifact

const (
	// DefaultMaxDownloadBytes caps what is read from a source: 64 GiB.
	DefaultMaxDownloadBytes int64 = 64 << 30
	// DefaultMaxOutputBytes caps what a compressed file may expand to: 64 GiB.
	DefaultMaxOutputBytes int64 = 64 << 30
	// DefaultMaxVirtualSizeBytes caps the disk that the guest sees: 1 TiB.
	DefaultMaxVirtualSizeBytes int64 = 1 << 40
	// MaxDecoderWindowBytes caps the memory that one decoder may be talked into: 256 MiB.
	MaxDecoderWindowBytes = 256 << 20
)

// Limits bounds one image. A value of 0 or less means the default.
type Limits struct {
	// MaxDownloadBytes caps what is read from the source.
	MaxDownloadBytes int64
	// MaxOutputBytes caps the decompressed content.
	MaxOutputBytes int64
	// MaxVirtualSizeBytes caps the disk that the guest sees.
	MaxVirtualSizeBytes int64
}

// WithDefaults fills in what is not set.
func (l Limits) WithDefaults() Limits {
	if l.MaxDownloadBytes <= 0 {
		l.MaxDownloadBytes = DefaultMaxDownloadBytes
	}
	if l.MaxOutputBytes <= 0 {
		l.MaxOutputBytes = DefaultMaxOutputBytes
	}
	if l.MaxVirtualSizeBytes <= 0 {
		l.MaxVirtualSizeBytes = DefaultMaxVirtualSizeBytes
	}
	return l
}
