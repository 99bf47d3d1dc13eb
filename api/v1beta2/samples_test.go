package v1beta2_test

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	yamlutil "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
)

// TestSamplesAreAdmitted reviews every document of our kinds among the samples.
func TestSamplesAreAdmitted(t *testing.T) {
	kinds := map[string]*admission{
		"TemplateCatalog":           newAdmission(t, "templatecatalogs"),
		"CloudStackImage":           newAdmission(t, "cloudstackimages"),
		"CloudStackCluster":         newAdmission(t, "cloudstackclusters"),
		"CloudStackClusterTemplate": newAdmission(t, "cloudstackclustertemplates"),
		"CloudStackMachineTemplate": newAdmission(t, "cloudstackmachinetemplates"),
	}
	scheme := runtime.NewScheme()
	if err := infrav1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	reviewed := 0
	err := filepath.WalkDir(filepath.Join("..", "..", "config", "samples"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".yaml" {
			return err
		}
		for _, document := range documentsOf(t, path) {
			var head struct {
				APIVersion string `json:"apiVersion"`
				Kind       string `json:"kind"`
			}
			if err := yaml.Unmarshal(document, &head); err != nil {
				t.Errorf("%s: %v", path, err)
				continue
			}
			if head.APIVersion != infrav1.GroupVersion.String() || kinds[head.Kind] == nil {
				continue
			}
			reviewed++
			typed, err := scheme.New(infrav1.GroupVersion.WithKind(head.Kind))
			if err != nil {
				t.Fatal(err)
			}
			if err := yaml.UnmarshalStrict(document, typed); err != nil {
				t.Errorf("%s: %v", path, err)
			}
			if err := kinds[head.Kind].review(t, string(document), "").ToAggregate(); err != nil {
				t.Errorf("%s is refused: %v", path, err)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if reviewed < 4 {
		t.Errorf("%d samples were reviewed, want all of them", reviewed)
	}
}

func documentsOf(t *testing.T, path string) [][]byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var documents [][]byte
	reader := yamlutil.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return documents
		}
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		documents = append(documents, document)
	}
}
