package upgrade

import (
	"cmp"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// TemplateRef names what machines are made of.
type TemplateRef struct{ Kind, Name string }

// Change is what an object asks for the machines of a pool.
type Change struct {
	// Cluster of the machines.
	Cluster types.NamespacedName
	// Pool by name, for people.
	Pool string
	// ControlPlane tells the control plane from workers.
	ControlPlane bool
	// Version that is asked for.
	Version string
	// Template of the machines.
	Template TemplateRef
	// FailureDomain that the machines are bound to; empty when they are spread.
	FailureDomain string
	// RemovesFirst tells that a rollout may remove a running machine before its replacement is there.
	RemovesFirst bool
}

// Rolls tells whether going over from one to the other replaces machines by such of another version or template.
func (c Change) Rolls(from Change) bool {
	return c.Version != "" && (c.Version != from.Version || c.Template != from.Template)
}

// ChangeOf reads a Cluster with a topology, a MachineDeployment, or a control plane that follows the contract.
func ChangeOf(obj *unstructured.Unstructured) (Change, error) {
	switch obj.GetKind() {
	case "Cluster":
		version, _, err := unstructured.NestedString(obj.Object, "spec", "topology", "version")
		if err != nil {
			return Change{}, fmt.Errorf("reading the Cluster: %w", err)
		}
		return Change{Cluster: types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()}, Version: version}, nil
	case "MachineDeployment":
		d := &clusterv1.MachineDeployment{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, d); err != nil {
			return Change{}, fmt.Errorf("reading the MachineDeployment: %w", err)
		}
		return changeOfWorkers(d), nil
	}
	return changeOfControlPlane(obj.Object), nil
}

func changeOfWorkers(d *clusterv1.MachineDeployment) Change {
	spec := &d.Spec.Template.Spec
	rolling := d.Spec.Rollout.Strategy.RollingUpdate
	return Change{
		Cluster: types.NamespacedName{Namespace: d.Namespace, Name: d.Spec.ClusterName}, Pool: d.Name, Version: spec.Version,
		Template:      TemplateRef{Kind: spec.InfrastructureRef.Kind, Name: spec.InfrastructureRef.Name},
		FailureDomain: spec.FailureDomain,
		RemovesFirst: d.Spec.Rollout.Strategy.Type != clusterv1.OnDeleteMachineDeploymentStrategyType &&
			(!none(rolling.MaxUnavailable) || rolling.MaxSurge != nil && none(rolling.MaxSurge)),
	}
}

// none tells whether a number or a percentage is not more than nothing; a missing one is nothing.
func none(n *intstr.IntOrString) bool {
	return n == nil || n.Type == intstr.Int && n.IntVal <= 0 || n.Type == intstr.String && strings.Trim(n.StrVal, "0%") == ""
}

// changeOfControlPlane reads the fields of the contract. Older versions of it have the reference one level higher.
func changeOfControlPlane(obj map[string]any) Change {
	read := func(fields ...string) string {
		text, _, err := unstructured.NestedString(obj, fields...)
		if err != nil {
			return ""
		}
		return text
	}
	kind := cmp.Or(read("spec", "machineTemplate", "spec", "infrastructureRef", "kind"), read("spec", "machineTemplate", "infrastructureRef", "kind"))
	name := cmp.Or(read("spec", "machineTemplate", "spec", "infrastructureRef", "name"), read("spec", "machineTemplate", "infrastructureRef", "name"))
	surge, found, err := unstructured.NestedFieldNoCopy(obj, "spec", "rollout", "strategy", "rollingUpdate", "maxSurge")
	return Change{
		Cluster: types.NamespacedName{Namespace: read("metadata", "namespace"), Name: ownerOf(obj, read("metadata", "name"))},
		Pool:    controlPlaneName, ControlPlane: true, Version: read("spec", "version"), Template: TemplateRef{Kind: kind, Name: name},
		RemovesFirst: err == nil && found && strings.Trim(fmt.Sprint(surge), "0%") == "",
	}
}

// ownerOf is the Cluster of a control plane: its owner, the one its label names or, before either is set, the one of its name.
func ownerOf(obj map[string]any, name string) string {
	u := &unstructured.Unstructured{Object: obj}
	for _, ref := range u.GetOwnerReferences() {
		if ref.Kind == "Cluster" {
			return ref.Name
		}
	}
	return cmp.Or(u.GetLabels()[clusterv1.ClusterNameLabel], name)
}
