package v1beta2_test

import (
	"os"
	"path/filepath"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdvalidation "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"
)

// admission answers as the API server would, from the generated CRD of a kind.
type admission struct {
	structural *schema.Structural
	schema     validation.SchemaValidator
	rules      *cel.Validator
}

func loadCRD(t *testing.T, plural string) *apiextensions.CustomResourceDefinition {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "config", "crd", "bases", "infrastructure.cluster.x-k8s.io_"+plural+".yaml"))
	if err != nil {
		t.Fatalf("Reading the CRD: %v", err)
	}
	var versioned apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(data, &versioned); err != nil {
		t.Fatalf("Decoding the CRD: %v", err)
	}
	apiextensionsv1.SetDefaults_CustomResourceDefinition(&versioned)
	apiextensionsv1.SetDefaults_CustomResourceDefinitionSpec(&versioned.Spec)
	var crd apiextensions.CustomResourceDefinition
	if err := apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(&versioned, &crd, nil); err != nil {
		t.Fatalf("Converting the CRD: %v", err)
	}
	return &crd
}

func newAdmission(t *testing.T, plural string) *admission {
	t.Helper()
	crd := loadCRD(t, plural)
	props := crd.Spec.Validation
	if props == nil {
		props = crd.Spec.Versions[0].Schema
	}
	structural, err := schema.NewStructural(props.OpenAPIV3Schema)
	if err != nil {
		t.Fatalf("The schema is not structural: %v", err)
	}
	validator, _, err := validation.NewSchemaValidator(props.OpenAPIV3Schema)
	if err != nil {
		t.Fatalf("The schema is unusable: %v", err)
	}
	return &admission{
		structural: structural,
		schema:     validator,
		rules:      cel.NewValidator(structural, true, celconfig.PerCallLimit),
	}
}

// review returns the errors for a new object, or for a change when old is not empty.
func (a *admission) review(t *testing.T, object, old string) field.ErrorList {
	t.Helper()
	errs, _ := a.reviewWithCost(t, object, old)
	return errs
}

func (a *admission) reviewWithCost(t *testing.T, object, old string) (field.ErrorList, int64) {
	t.Helper()
	obj := a.decode(t, object)
	var oldObj map[string]any
	errs := validation.ValidateCustomResource(nil, obj, a.schema)
	if old != "" {
		oldObj = a.decode(t, old)
	}
	errs = append(errs, listtype.ValidateListSetsAndMaps(nil, a.structural, obj)...)
	if len(errs) > 0 {
		return errs, 0
	}
	var before any
	if oldObj != nil {
		before = oldObj
	}
	celErrs, left := a.rules.Validate(t.Context(), nil, a.structural, obj, before, celconfig.RuntimeCELCostBudget)
	return append(errs, celErrs...), celconfig.RuntimeCELCostBudget - left
}

func (a *admission) decode(t *testing.T, text string) map[string]any {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatalf("Decoding %s: %v", text, err)
	}
	obj := map[string]any{}
	if err := json.Unmarshal(data, &obj); err != nil {
		t.Fatalf("Decoding %s: %v", data, err)
	}
	defaulting.Default(obj, a.structural)
	return obj
}

func TestCRDsAreValid(t *testing.T) {
	for _, plural := range []string{"templatecatalogs", "cloudstackimages", "cloudstackclusters", "cloudstackclustertemplates", "cloudstackmachines", "cloudstackmachinetemplates"} {
		t.Run(plural, func(t *testing.T) {
			crd := loadCRD(t, plural)
			crd.Status.StoredVersions = []string{"v1beta2"}
			if errs := crdvalidation.ValidateCustomResourceDefinition(t.Context(), crd); len(errs) > 0 {
				t.Errorf("The API server would refuse the CRD: %v", errs.ToAggregate())
			}
			if got := crd.Labels["cluster.x-k8s.io/v1beta2"]; got != "v1beta2" {
				t.Errorf("Contract label = %q, want v1beta2", got)
			}
			if want := plural + ".infrastructure.cluster.x-k8s.io"; crd.Name != want {
				t.Errorf("Name = %q, want %q", crd.Name, want)
			}
		})
	}
}
