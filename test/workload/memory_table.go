package workload

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/duration"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// column of a table, as kubectl get prints it.
type column[T any] struct {
	name string
	wide bool // is shown with -o wide only
	cell func(T) string
}

var nodeColumns = []column[*corev1.Node]{
	{name: "Name", cell: func(n *corev1.Node) string { return n.Name }},
	{name: "Status", cell: nodeState},
	{name: "Roles", cell: nodeRoles},
	{name: "Age", cell: func(n *corev1.Node) string { return age(n) }},
	{name: "Version", cell: func(n *corev1.Node) string { return n.Status.NodeInfo.KubeletVersion }},
	{name: "Internal-IP", wide: true, cell: func(n *corev1.Node) string { return nodeAddress(n, corev1.NodeInternalIP) }},
	{name: "External-IP", wide: true, cell: func(n *corev1.Node) string { return nodeAddress(n, corev1.NodeExternalIP) }},
	{name: "OS-Image", wide: true, cell: func(n *corev1.Node) string { return cmp.Or(n.Status.NodeInfo.OSImage, "<unknown>") }},
	{name: "Kernel-Version", wide: true, cell: func(n *corev1.Node) string { return cmp.Or(n.Status.NodeInfo.KernelVersion, "<unknown>") }},
	{name: "Container-Runtime", wide: true, cell: func(n *corev1.Node) string { return cmp.Or(n.Status.NodeInfo.ContainerRuntimeVersion, "<unknown>") }},
}

var podColumns = []column[*corev1.Pod]{
	{name: "Name", cell: func(p *corev1.Pod) string { return p.Name }},
	{name: "Ready", cell: podReady},
	{name: "Status", cell: func(p *corev1.Pod) string { return cmp.Or(p.Status.Reason, string(p.Status.Phase)) }},
	{name: "Restarts", cell: podRestarts},
	{name: "Age", cell: func(p *corev1.Pod) string { return age(p) }},
	{name: "IP", wide: true, cell: func(p *corev1.Pod) string { return cmp.Or(p.Status.PodIP, "<none>") }},
	{name: "Node", wide: true, cell: func(p *corev1.Pod) string { return cmp.Or(p.Spec.NodeName, "<none>") }},
}

// wantsTable tells whether a client wants to print what it reads.
func wantsTable(r *http.Request) bool {
	first, _, _ := strings.Cut(r.Header.Get("Accept"), ",")
	return r.Method == http.MethodGet && strings.Contains(first, "as=Table") && strings.Contains(first, "v=v1;")
}

// table answers with a table, and is false for kinds that have none here.
func (p *memoryPlane) table(w http.ResponseWriter, r *http.Request, of target) bool {
	selector, err := labels.Parse(r.URL.Query().Get("labelSelector"))
	if err != nil {
		refuse(w, http.StatusBadRequest, metav1.StatusReasonBadRequest, err.Error())
		return true
	}
	options := []client.ListOption{client.InNamespace(of.namespace), client.MatchingLabelsSelector{Selector: selector}}
	var table *metav1.Table
	switch of.resource.Resource {
	case "nodes":
		table, err = tableOf(r.Context(), p, &corev1.NodeList{}, func(l *corev1.NodeList) []corev1.Node { return l.Items }, nodeColumns, of, options)
	case "pods":
		table, err = tableOf(r.Context(), p, &corev1.PodList{}, func(l *corev1.PodList) []corev1.Pod { return l.Items }, podColumns, of, options)
	default:
		return false
	}
	switch {
	case err != nil:
		refuse(w, http.StatusInternalServerError, metav1.StatusReasonInternalError, err.Error())
	case of.name != "" && len(table.Rows) == 0:
		refuse(w, http.StatusNotFound, metav1.StatusReasonNotFound, fmt.Sprintf("%s %q not found", of.resource.Resource, of.name))
	default:
		writeJSON(w, http.StatusOK, table)
	}
	return true
}

// tableOf reads the objects and prints those that the request is about.
func tableOf[L client.ObjectList, T any, O interface {
	*T
	client.Object
}](ctx context.Context, p *memoryPlane, list L, items func(L) []T, columns []column[O], of target, options []client.ListOption) (*metav1.Table, error) {
	if err := p.client().List(ctx, list, options...); err != nil {
		return nil, err
	}
	table := &metav1.Table{
		TypeMeta: metav1.TypeMeta{Kind: "Table", APIVersion: metav1.SchemeGroupVersion.String()},
		ListMeta: metav1.ListMeta{ResourceVersion: list.GetResourceVersion()}, Rows: []metav1.TableRow{},
	}
	for _, c := range columns {
		definition := metav1.TableColumnDefinition{Name: c.name, Type: "string"}
		if c.name == "Name" {
			definition.Format = "name"
		}
		if c.wide {
			definition.Priority = 1
		}
		table.ColumnDefinitions = append(table.ColumnDefinitions, definition)
	}
	all := items(list)
	for i := range all {
		o := O(&all[i])
		if of.name != "" && o.GetName() != of.name {
			continue
		}
		table.Rows = append(table.Rows, rowOf(o, columns))
	}
	slices.SortFunc(table.Rows, func(a, b metav1.TableRow) int { return strings.Compare(a.Cells[0].(string), b.Cells[0].(string)) })
	return table, nil
}

func rowOf[O client.Object](o O, columns []column[O]) metav1.TableRow {
	about := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{Kind: "PartialObjectMetadata", APIVersion: metav1.SchemeGroupVersion.String()}}
	about.Name, about.Namespace, about.UID, about.ResourceVersion = o.GetName(), o.GetNamespace(), o.GetUID(), o.GetResourceVersion()
	about.Labels, about.Annotations, about.CreationTimestamp = o.GetLabels(), o.GetAnnotations(), o.GetCreationTimestamp()
	row := metav1.TableRow{Object: runtime.RawExtension{Object: about}}
	for _, c := range columns {
		row.Cells = append(row.Cells, c.cell(o))
	}
	return row
}

func age(o client.Object) string {
	if at := o.GetCreationTimestamp(); !at.IsZero() {
		return duration.HumanDuration(time.Since(at.Time))
	}
	return "<unknown>"
}

func nodeState(n *corev1.Node) string {
	state := "Unknown"
	for _, c := range n.Status.Conditions {
		if c.Type != corev1.NodeReady {
			continue
		}
		if state = "NotReady"; c.Status == corev1.ConditionTrue {
			state = "Ready"
		}
	}
	if n.Spec.Unschedulable {
		state += ",SchedulingDisabled"
	}
	return state
}

func nodeRoles(n *corev1.Node) string {
	var roles []string
	for label := range n.Labels {
		if role, is := strings.CutPrefix(label, "node-role.kubernetes.io/"); is && role != "" {
			roles = append(roles, role)
		}
	}
	slices.Sort(roles)
	return cmp.Or(strings.Join(roles, ","), "<none>")
}

func nodeAddress(n *corev1.Node, kind corev1.NodeAddressType) string {
	for _, a := range n.Status.Addresses {
		if a.Type == kind {
			return a.Address
		}
	}
	return "<none>"
}

// podReady is 1/1 for the pods here, whose containers nobody runs.
func podReady(p *corev1.Pod) string {
	ready, all := 0, max(len(p.Spec.Containers), 1)
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
			ready = all
		}
	}
	return fmt.Sprintf("%d/%d", ready, all)
}

func podRestarts(p *corev1.Pod) string {
	var n int32
	for _, c := range p.Status.ContainerStatuses {
		n += c.RestartCount
	}
	return fmt.Sprint(n)
}
