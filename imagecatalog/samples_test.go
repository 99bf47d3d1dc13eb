package imagecatalog_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/capcat/capcat/imagecatalog"
)

// TestSampleCatalogsExpand decodes every sample catalog.
func TestSampleCatalogsExpand(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "config", "samples", "*", "catalog*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("No sample catalogs: %v", err)
	}
	for _, name := range files {
		file, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		_, err = imagecatalog.DecodeCatalogs(file)
		if err := file.Close(); err != nil {
			t.Error(err)
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
