package secondarystorage

import (
	"io/fs"
	"os"
	"strings"
)

// subFS shows a directory as the images of the storage VM.
type subFS struct{ dir string }

func (s subFS) Open(name string) (fs.File, error) {
	return os.DirFS(s.dir).Open(strings.TrimPrefix(name, "srv/images/"))
}
