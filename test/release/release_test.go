package release_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	yamlutil "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/cluster-api/cmd/clusterctl/client/yamlprocessor"
	"sigs.k8s.io/yaml"

	"github.com/capcat/capcat/test/controlplane"
	"github.com/capcat/capcat/test/release"
)

var (
	plane controlplane.Shared
	// artefacts builds a release when the first test asks for it, into a folder that TestMain removes.
	artefacts = sync.OnceValues(func() (string, error) {
		dir, err := os.MkdirTemp("", "capcat-release-test-")
		if err != nil {
			return "", err
		}
		removed = append(removed, dir)
		return dir, release.Build(context.Background(), version, dir)
	})
	removed []string
)

func TestMain(m *testing.M) {
	code := plane.Run(m)
	for _, dir := range removed {
		if err := os.RemoveAll(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
	os.Exit(code)
}

// process fills variables in as clusterctl does.
func process(t *testing.T, text []byte, variables map[string]string) []byte {
	t.Helper()
	out, err := yamlprocessor.NewSimpleProcessor().Process(text, func(name string) (string, error) {
		if value, ok := variables[name]; ok {
			return value, nil
		}
		return "", fmt.Errorf("%s is not set", name)
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// objects parses the documents of a file, strictly.
func objects(t *testing.T, text []byte) []*unstructured.Unstructured {
	t.Helper()
	var all []*unstructured.Unstructured
	for reader := yamlutil.NewYAMLReader(bufio.NewReader(bytes.NewReader(text))); ; {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		o := &unstructured.Unstructured{}
		if err := yaml.UnmarshalStrict(document, &o.Object); err != nil {
			t.Fatalf("%v in\n%s", err, document)
		}
		if len(o.Object) > 0 {
			all = append(all, o)
		}
	}
}
