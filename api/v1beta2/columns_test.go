package v1beta2_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/registry/customresource/tableconvertor"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestPrinterColumns(t *testing.T) {
	tests := map[string]struct {
		plural, object string
		want           []string
	}{
		"a catalog": {
			plural: "templatecatalogs",
			object: catalogHead + `
  zones: [{name: zone-a}, {id: 1b9d}]
status:
  images: {total: 12, ready: 11, failed: 1, summary: 11/12}
  newestKubernetesVersion: v1.33.1
  zones: zone-a,1b9d
  conditions: [{type: Ready, status: "False"}]
`,
			want: []string{"NAME=zone-a", "READY=False", "IMAGES=11/12", "VERSIONS=v1.33.1", "ZONES=zone-a,1b9d", "AGE=<nil>"},
		},
		"an image": {
			plural: "cloudstackimages",
			object: imageText + "status: {templateID: t1, progress: {phase: Downloading, percent: 42}}\n",
			want: []string{
				"NAME=one-off", "VERSION=v1.32.3", "OS=ubuntu-24.04", "ZONE=zone-a", "PHASE=Downloading", "PROGRESS=42", "TEMPLATE=t1", "AGE=<nil>",
			},
		},
		"a cluster": {
			plural: "cloudstackclusters",
			object: clusterHead + `
spec: {identityRef: {name: x}, controlPlaneEndpoint: {host: 192.0.2.7}}
status: {initialization: {provisioned: true}, conditions: [{type: Ready, status: "True", reason: Ready}]}
`,
			want: []string{"NAME=c1", "CLUSTER=<nil>", "READY=True", "REASON=Ready", "PROVISIONED=true", "ENDPOINT=192.0.2.7", "AGE=<nil>"},
		},
		"a machine": {
			plural: "cloudstackmachines",
			object: machineText + `
status:
  instanceState: Running
  failureDomain: fd1
  resolved: {kubernetesVersion: v1.33.1, templateName: u2404, offeringName: Medium Instance}
`,
			want: []string{
				"NAME=m1", "CLUSTER=<nil>", "READY=<nil>", "REASON=<nil>", "STATE=Running", "VERSION=v1.33.1", "TEMPLATE=u2404",
				"OFFERING=Medium Instance", "DOMAIN=fd1", "AGE=<nil>",
			},
		},
		"a machine template": {
			plural: "cloudstackmachinetemplates",
			object: `
metadata: {name: t1}
spec: {template: {spec: {offering: {class: worker}, image: {os: rocky-9}}}}
status: {capacity: {cpu: "2", memory: 2Gi}}
`,
			want: []string{"NAME=t1", "OS=rocky-9", "TEMPLATE=<nil>", "OFFERING=worker", "CPU=2", "MEMORY=2Gi", "AGE=<nil>"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			convertor, err := tableconvertor.New(printerColumns(t, tc.plural))
			if err != nil {
				t.Fatalf("The columns are unusable: %v", err)
			}
			obj := &unstructured.Unstructured{Object: newAdmission(t, tc.plural).decode(t, tc.object)}
			table, err := convertor.ConvertToTable(t.Context(), obj, &metav1.TableOptions{})
			if err != nil {
				t.Fatalf("Converting: %v", err)
			}
			var got []string
			for i, column := range table.ColumnDefinitions {
				if column.Priority == 0 {
					got = append(got, fmt.Sprintf("%s=%v", columnName(column.Name), table.Rows[0].Cells[i]))
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("Columns (-want +got):\n%s", diff)
			}
		})
	}
}

func columnName(name string) string {
	if name == "Name" {
		return "NAME"
	}
	return name
}

func printerColumns(t *testing.T, plural string) []apiextensionsv1.CustomResourceColumnDefinition {
	t.Helper()
	crd := loadCRD(t, plural)
	columns := crd.Spec.AdditionalPrinterColumns
	if len(columns) == 0 {
		columns = crd.Spec.Versions[0].AdditionalPrinterColumns
	}
	versioned := make([]apiextensionsv1.CustomResourceColumnDefinition, len(columns))
	for i := range columns {
		if err := apiextensionsv1.Convert_apiextensions_CustomResourceColumnDefinition_To_v1_CustomResourceColumnDefinition(&columns[i], &versioned[i], nil); err != nil {
			t.Fatalf("Converting a column: %v", err)
		}
	}
	return versioned
}
