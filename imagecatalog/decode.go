package imagecatalog

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	yamlutil "k8s.io/apimachinery/pkg/util/yaml"
	sigsjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
)

// MaxCatalogFile bounds the file that DecodeCatalogs reads, in bytes.
const MaxCatalogFile = 8 << 20

// catalogKind is the kind that DecodeCatalogs looks for.
const catalogKind = "TemplateCatalog"

// DecodeCatalogs reads the TemplateCatalogs among the documents of a YAML or JSON file. It is as strict as the API server:
// unknown and repeated fields are errors. Documents of other kinds are skipped, lists are opened. Every catalog has passed Validate; its
// warnings are dropped.
func DecodeCatalogs(r io.Reader) ([]infrav1.TemplateCatalog, error) {
	data, err := io.ReadAll(io.LimitReader(r, MaxCatalogFile+1))
	if err != nil {
		return nil, fmt.Errorf("reading: %w", err)
	}
	if len(data) > MaxCatalogFile {
		return nil, fmt.Errorf("the file is larger than %d bytes", MaxCatalogFile)
	}
	var catalogs []infrav1.TemplateCatalog
	documents := yamlutil.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	for n := 1; ; n++ {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("document %d: %w", n, err)
		}
		found, err := decodeDocument(document)
		if err != nil {
			return nil, fmt.Errorf("document %d: %w", n, err)
		}
		catalogs = append(catalogs, found...)
	}
	if len(catalogs) == 0 {
		return nil, fmt.Errorf("the file holds no %s", catalogKind)
	}
	return catalogs, checkNames(catalogs)
}

// decodeDocument gives nothing for a document of another kind. A list, as kubectl get prints it, gives what is in it.
func decodeDocument(document []byte) ([]infrav1.TemplateCatalog, error) {
	data, err := yaml.YAMLToJSONStrict(document)
	if err != nil {
		return nil, err
	}
	if string(bytes.TrimSpace(data)) == "null" {
		return nil, nil // nothing but comments
	}
	var head metav1.TypeMeta
	if err := sigsjson.UnmarshalCaseSensitivePreserveInts(data, &head); err != nil {
		return nil, err
	}
	if head.Kind != "List" && head.Kind != catalogKind+"List" {
		return decodeObject(data)
	}
	var list struct {
		Items []json.RawMessage `json:"items"`
	}
	if err := sigsjson.UnmarshalCaseSensitivePreserveInts(data, &list); err != nil {
		return nil, err
	}
	var catalogs []infrav1.TemplateCatalog
	for i, item := range list.Items {
		found, err := decodeObject(item)
		if err != nil {
			return nil, fmt.Errorf("items[%d]: %w", i, err)
		}
		catalogs = append(catalogs, found...)
	}
	return catalogs, nil
}

// decodeObject gives nothing for an object of another kind.
func decodeObject(data []byte) ([]infrav1.TemplateCatalog, error) {
	var head metav1.TypeMeta
	if err := sigsjson.UnmarshalCaseSensitivePreserveInts(data, &head); err != nil {
		return nil, err
	}
	switch head.Kind {
	case "":
		return nil, errors.New("kind is missing")
	case catalogKind:
		catalog, err := decodeCatalog(data, head)
		if err != nil {
			return nil, err
		}
		return []infrav1.TemplateCatalog{*catalog}, nil
	default:
		return nil, nil
	}
}

func decodeCatalog(data []byte, head metav1.TypeMeta) (*infrav1.TemplateCatalog, error) {
	if want := infrav1.GroupVersion.String(); head.APIVersion != want {
		return nil, fmt.Errorf("apiVersion is %q, want %s", head.APIVersion, want)
	}
	catalog := &infrav1.TemplateCatalog{}
	strict, err := sigsjson.UnmarshalStrict(data, catalog)
	if err = errors.Join(append(strict, err)...); err != nil {
		return nil, err
	}
	_, errs := Validate(&catalog.Spec)
	return catalog, errs.ToAggregate()
}

func checkNames(catalogs []infrav1.TemplateCatalog) error {
	seen := map[string]bool{}
	for i := range catalogs {
		name := catalogs[i].Name
		if name == "" {
			return errors.New("a catalog has no name")
		}
		if seen[name] {
			return fmt.Errorf("two catalogs have the name %s", name)
		}
		seen[name] = true
	}
	return nil
}
