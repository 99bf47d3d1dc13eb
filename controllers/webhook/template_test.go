package webhook_test

import (
	"context"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
	"sigs.k8s.io/yaml"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/controllers/webhook"
)

const (
	machineTemplateText = `
metadata: {name: t, namespace: n}
spec: {template: {metadata: {labels: {tier: gold}}, spec: {offering: {id: "", name: small}, details: {a: b}}}}
`
	clusterTemplateText = `
metadata: {name: t, namespace: n}
spec: {template: {metadata: {labels: {tier: gold}}, spec: {identityRef: {name: small}, catalogs: []}}}
`
)

func read[T any](t *testing.T, text string) *T {
	t.Helper()
	obj := new(T)
	if err := yaml.UnmarshalStrict([]byte(text), obj); err != nil {
		t.Fatal(err)
	}
	return obj
}

// templateRow is a change of a template, told as one replacement in its text.
type templateRow struct {
	from, to string
	create   bool
	dryRun   bool
	topology bool // the annotation by which a topology marks its dry runs
	deleting bool
	want     string
}

func templateRows() map[string]templateRow {
	return map[string]templateRow{
		"a new one":                              {create: true},
		"a new one with an impossible label":     {create: true, from: "gold", to: "'not a value'", want: "spec.template.metadata.labels"},
		"nothing":                                {},
		"nothing, though written in other words": {from: `id: "", `, to: ""},
		"empty instead of missing":               {from: ", catalogs: []", to: ""},
		"the spec":                               {from: "small", to: "large", want: "create a new one"},
		"the metadata":                           {from: "gold", to: "silver", want: "create a new one"},
		"the spec, as a dry run":                 {from: "small", to: "large", dryRun: true, want: "create a new one"},
		"the spec, by a topology":                {from: "small", to: "large", topology: true, want: "create a new one"},
		"the spec, as a dry run by a topology":   {from: "small", to: "large", dryRun: true, topology: true},
		"the labels, as a dry run by a topology": {from: "gold", to: "'not a value'", dryRun: true, topology: true, want: "spec.template.metadata.labels"},
		"the spec of what is going":              {from: "small", to: "large", deleting: true},
	}
}

func TestMachineTemplateWebhook(t *testing.T) {
	for name, row := range templateRows() {
		t.Run(name, func(t *testing.T) {
			before := read[infrav1.CloudStackMachineTemplate](t, machineTemplateText)
			after := read[infrav1.CloudStackMachineTemplate](t, strings.Replace(machineTemplateText, row.from, row.to, 1))
			judge(t, row, webhook.MachineTemplates(), before, after)
		})
	}
}

func TestClusterTemplateWebhook(t *testing.T) {
	for name, row := range templateRows() {
		t.Run(name, func(t *testing.T) {
			before := read[infrav1.CloudStackClusterTemplate](t, clusterTemplateText)
			after := read[infrav1.CloudStackClusterTemplate](t, strings.Replace(clusterTemplateText, row.from, row.to, 1))
			judge(t, row, webhook.ClusterTemplates(), before, after)
		})
	}
}

func judge[T client.Object](t *testing.T, row templateRow, w admission.Validator[T], before, after T) {
	t.Helper()
	if row.topology {
		after.SetAnnotations(map[string]string{clusterv1.TopologyDryRunAnnotation: ""})
	}
	if row.deleting {
		now := metav1.Now()
		after.SetDeletionTimestamp(&now)
	}
	ctx := admission.NewContextWithRequest(t.Context(), admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{DryRun: &row.dryRun}})
	_, err := review(ctx, row.create, w, before, after)
	expectRefusal(t, err, row.want)
}

func review[T client.Object](ctx context.Context, create bool, w admission.Validator[T], before, after T) (admission.Warnings, error) {
	if create {
		return w.ValidateCreate(ctx, after)
	}
	return w.ValidateUpdate(ctx, before, after)
}

func expectRefusal(t *testing.T, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("Refused: %v", err)
	case want != "" && (!apierrors.IsInvalid(err) || !strings.Contains(err.Error(), want)):
		t.Errorf("Error = %v, want an invalid object with %q", err, want)
	}
}

// TestFieldsWithoutEffectAreTold: what manifests of the provider that machines come from hold and nobody reads.
func TestFieldsWithoutEffectAreTold(t *testing.T) {
	for text, want := range map[string]int{
		machineTemplateText: 0,
		strings.Replace(machineTemplateText, "details:", "name: mine, id: x, details:", 1): 2,
	} {
		warnings, err := webhook.MachineTemplates().ValidateCreate(t.Context(), read[infrav1.CloudStackMachineTemplate](t, text))
		if err != nil || len(warnings) != want {
			t.Errorf("warnings %q, %v, want %d", warnings, err, want)
		}
	}
}
