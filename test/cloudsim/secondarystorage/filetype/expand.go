package filetype

import (
	"bytes"
	"errors"
	"io"
	"slices"

	"github.com/capcat/capcat/test/cloudsim/secondarystorage/unpack"
)

// packer is a packing that file(1) can look into: with its own decoder, or by running a program.
type packer struct {
	magic string
	// own decodes inside file(1) and shows what there is. run is a program whose output is only seen when it fills the window.
	own, run func(io.Writer, io.Reader) error
}

var packers = [...]packer{
	{magic: "\x1f\x8b", own: unpack.FirstGzip},
	{magic: "PK\x03\x04", run: unpack.GunzipZip},
	{magic: "BZh", own: unpack.FirstBzip2},
	{magic: "\xfd7zXZ\x00", own: unpack.FirstXZ},
	{magic: "\x28\xb5\x2f\xfd", run: unpack.Unzstd},
}

// expand describes what is packed in head, and reports whether anything is.
func expand(head []byte) (string, bool) {
	i := slices.IndexFunc(packers[:], func(p packer) bool { return bytes.HasPrefix(head, []byte(p.magic)) })
	if i < 0 {
		return "", false
	}
	p := packers[i]
	if p.own != nil {
		out := &limited{}
		if err := p.own(out, bytes.NewReader(head)); err != nil {
			return "ERROR:[" + err.Error() + "]", true
		}
		return out.describe(), true
	}
	out := &limited{}
	err := p.run(out, bytes.NewReader(head))
	var failure *unpack.Error
	switch {
	case out.full():
		return out.describe(), true
	case errors.As(err, &failure) && failure.Text != "":
		return "ERROR:[" + failure.Text + "]", true
	}
	return "empty", true
}

// limited keeps a window of what is written to it.
type limited struct{ kept []byte }

func (l *limited) Write(p []byte) (int, error) {
	room := window - len(l.kept)
	if len(p) < room {
		l.kept = append(l.kept, p...)
		return len(p), nil
	}
	l.kept = append(l.kept, p[:room]...)
	return room, unpack.ErrTooLarge
}

func (l *limited) full() bool { return len(l.kept) >= window }

func (l *limited) describe() string {
	c := content{head: l.kept, size: int64(len(l.kept))}
	return c.describe()
}
