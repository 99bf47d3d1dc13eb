package workload_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// forPeople is what kubectl accepts.
const forPeople = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json"

// TestTables: the API server in memory prints Nodes and pods as a real one does.
func TestTables(t *testing.T) {
	t.Parallel()
	s, admin := oneNode(t)
	made := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "made", Labels: map[string]string{"made": "yes"}}, Spec: corev1.NodeSpec{Unschedulable: true}}
	if _, err := admin.CoreV1().Nodes().Create(t.Context(), made, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	table := func(path string, params ...string) map[string][]string {
		t.Helper()
		request := admin.CoreV1().RESTClient().Get().AbsPath(path).SetHeader("Accept", forPeople)
		for i := 0; i < len(params); i += 2 {
			request = request.Param(params[i], params[i+1])
		}
		text, err := request.DoRaw(t.Context())
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		var table metav1.Table
		if err := json.Unmarshal(text, &table); err != nil || table.Kind != "Table" || table.APIVersion != "meta.k8s.io/v1" {
			t.Fatalf("%s is no table (%v): %s", path, err, text)
		}
		return narrow(t, &table)
	}
	nodes := map[string][]string{"cp": {"cp", "Ready", "control-plane", "v1.34.2"}, "made": {"made", "Unknown,SchedulingDisabled", "<none>", ""}}
	s.eventually("the Node is ready", func() bool { return cmp.Equal(nodes, table("/api/v1/nodes")) })
	for path, want := range map[string]map[string][]string{"/api/v1/nodes/cp": {"cp": nodes["cp"]}, "/api/v1/nodes/made": {"made": nodes["made"]}} {
		if diff := cmp.Diff(want, table(path)); diff != "" {
			t.Errorf("%s -want +got:\n%s", path, diff)
		}
	}
	if diff := cmp.Diff(map[string][]string{"made": nodes["made"]}, table("/api/v1/nodes", "labelSelector", "made=yes")); diff != "" {
		t.Errorf("by a label -want +got:\n%s", diff)
	}
	pod := []string{"etcd-cp", "1/1", "Running", "0"}
	for _, path := range []string{"/api/v1/namespaces/kube-system/pods", "/api/v1/pods"} {
		s.eventually("the pod of etcd runs, at "+path, func() bool { return cmp.Equal(pod, table(path)["etcd-cp"]) })
	}
	if got := table("/api/v1/namespaces/default/pods"); len(got) != 0 {
		t.Errorf("the pods of another namespace are %v", got)
	}
	if _, err := admin.CoreV1().RESTClient().Get().AbsPath("/api/v1/nodes/nobody").SetHeader("Accept", forPeople).DoRaw(t.Context()); err == nil {
		t.Error("a Node that is not there has a table")
	}
}

// narrow gives the cells of each row that kubectl shows without -o wide, but not the age.
func narrow(t *testing.T, table *metav1.Table) map[string][]string {
	t.Helper()
	rows := map[string][]string{}
	for _, row := range table.Rows {
		var about metav1.PartialObjectMetadata
		if err := json.Unmarshal(row.Object.Raw, &about); err != nil || about.Name == "" || about.Kind != "PartialObjectMetadata" {
			t.Errorf("the row %v is about nothing: %s, %v", row.Cells, row.Object.Raw, err)
		}
		if len(row.Cells) != len(table.ColumnDefinitions) {
			t.Fatalf("the row %v has not the columns %v", row.Cells, table.ColumnDefinitions)
		}
		var cells []string
		for i, c := range table.ColumnDefinitions {
			if text, is := row.Cells[i].(string); is && c.Priority == 0 && c.Name != "Age" {
				cells = append(cells, text)
			}
		}
		rows[about.Name] = cells
	}
	return rows
}
