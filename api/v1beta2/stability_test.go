package v1beta2_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
)

// stableTexts are objects that a topology or a person applies again and again.
func stableTexts() map[string]string {
	const head = "apiVersion: infrastructure.cluster.x-k8s.io/v1beta2\nmetadata: {name: t}\nkind: "
	return map[string]string{
		"a cluster":                 clusterText,
		"a cluster of the peer":     peerClusterText,
		"a machine":                 machineText,
		"a machine of the peer":     peerMachine,
		"a small cluster template":  head + "CloudStackClusterTemplate\nspec: {template: {spec: {identityRef: {name: x}}}}\n",
		"a small machine template":  head + "CloudStackMachineTemplate\nspec: {template: {spec: {offering: {class: worker}}}}\n",
		"a labelled one of a class": head + "CloudStackMachineTemplate\nspec: {template: {metadata: {labels: {a: b}}, spec: {offering: {minimum: {memory: 2Gi}}}}}\n",
	}
}

// TestNothingIsAddedToWhatIsApplied: neither the server nor our types fill anything in, so that server-side apply sees no
// difference; and every field of the texts is known.
func TestNothingIsAddedToWhatIsApplied(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := infrav1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	for name, text := range stableTexts() {
		t.Run(name, func(t *testing.T) {
			applied := map[string]any{}
			if err := yaml.Unmarshal([]byte(text), &applied); err != nil {
				t.Fatal(err)
			}
			kind, _ := applied["kind"].(string)
			served := newAdmission(t, strings.ToLower(kind)+"s").decode(t, text)
			if diff := cmp.Diff(canonical(t, applied), canonical(t, served)); diff != "" {
				t.Errorf("The server would add (-applied +stored):\n%s", diff)
			}
			typed, err := scheme.New(infrav1.GroupVersion.WithKind(kind))
			if err != nil {
				t.Fatal(err)
			}
			if err := yaml.UnmarshalStrict([]byte(text), typed); err != nil {
				t.Fatalf("A field is not known: %v", err)
			}
			if diff := cmp.Diff(withoutEmpty(canonical(t, applied)), withoutEmpty(canonical(t, typed))); diff != "" {
				t.Errorf("Our types would change (-applied +written):\n%s", diff)
			}
		})
	}
}

func canonical(t *testing.T, object any) any {
	t.Helper()
	data, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	var out any
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// withoutEmpty drops empty texts, which mean the same as no text.
func withoutEmpty(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for key, inner := range v {
			if v[key] = withoutEmpty(inner); v[key] == "" {
				delete(v, key)
			}
		}
	case []any:
		for i := range v {
			v[i] = withoutEmpty(v[i])
		}
	}
	return value
}
