package secondarystorage

import (
	"fmt"
	"io"
	"strings"

	"github.com/capcat/capcat/test/cloudsim/secondarystorage/httpclient"
)

// copyLocal takes a file of the storage VM itself.
func (d *Download) copyLocal(source httpclient.Location, file *tempFile) error {
	name := strings.TrimPrefix(decoded(source.Path), "/")
	if d.engine.options.Local == nil {
		return failure("local file does not exist")
	}
	f, err := d.engine.options.Local.Open(name)
	if err != nil {
		return failure("local file does not exist")
	}
	defer f.Close()
	n, err := io.Copy(file, f)
	if err != nil {
		return fmt.Errorf("copying a local file: %w", err)
	}
	d.mu.Lock()
	d.total, d.remote = n, n
	d.mu.Unlock()
	return file.finish()
}
