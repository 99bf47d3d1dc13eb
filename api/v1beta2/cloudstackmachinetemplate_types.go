package v1beta2

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// CloudStackMachineTemplateResource is what a machine is made of.
type CloudStackMachineTemplateResource struct {
	// metadata holds labels and annotations for the machines.
	// +optional
	ObjectMeta clusterv1.ObjectMeta `json:"metadata,omitzero"`

	// spec of the machines.
	// +required
	// +kubebuilder:validation:XValidation:rule=`self.?providerID.orValue("") == ""`,message="providerID belongs to one machine and not into a template"
	Spec CloudStackMachineSpec `json:"spec,omitzero"`
}

// CloudStackMachineTemplateSpec holds the template.
type CloudStackMachineTemplateSpec struct {
	// template of the machines. It cannot be changed: make a new one.
	// +required
	Template CloudStackMachineTemplateResource `json:"template,omitzero"`
}

// CloudStackMachineTemplateStatus is what is known of the machines to come.
//
// +kubebuilder:validation:MinProperties=1
type CloudStackMachineTemplateStatus struct {
	// conditions: CapacityKnown.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// observedGeneration is the generation of the spec that the status describes.
	// +optional
	// +kubebuilder:validation:Minimum=1
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// capacity of a machine, for an autoscaler that has none to look at.
	// +optional
	Capacity corev1.ResourceList `json:"capacity,omitempty"`

	// nodeInfo tells about a node, for an autoscaler that has none to look at.
	// +optional
	NodeInfo NodeInfo `json:"nodeInfo,omitzero"`
}

// NodeArchitecture is a processor architecture in Kubernetes' spelling.
//
// +kubebuilder:validation:Enum=amd64;arm64;s390x;ppc64le
type NodeArchitecture string

// The architectures of nodes that images are made for.
const (
	NodeArchitectureAMD64 NodeArchitecture = "amd64"
	NodeArchitectureARM64 NodeArchitecture = "arm64"
)

// Node gives the architecture in Kubernetes' spelling; "" when it is not known.
func (a Arch) Node() NodeArchitecture {
	switch a {
	case ArchX8664:
		return NodeArchitectureAMD64
	case ArchAArch64:
		return NodeArchitectureARM64
	}
	return ""
}

// NodeInfo tells about a node.
//
// +kubebuilder:validation:MinProperties=1
type NodeInfo struct {
	// architecture of the node.
	// +optional
	Architecture NodeArchitecture `json:"architecture,omitempty"`

	// operatingSystem of the node, such as linux.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	OperatingSystem string `json:"operatingSystem,omitempty"`
}

// CloudStackMachineTemplate is what machines are made of.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=cloudstackmachinetemplates,scope=Namespaced,shortName=csmt,categories=cluster-api
// +kubebuilder:metadata:labels={"cluster.x-k8s.io/v1beta2=v1beta2"}
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="OS",type="string",JSONPath=`.spec.template.spec.image.os`
// +kubebuilder:printcolumn:name="TEMPLATE",type="string",JSONPath=`.spec.template.spec.template['name','id']`
// +kubebuilder:printcolumn:name="OFFERING",type="string",JSONPath=`.spec.template.spec.offering['class','name','id']`
// +kubebuilder:printcolumn:name="CPU",type="string",JSONPath=`.status.capacity.cpu`
// +kubebuilder:printcolumn:name="MEMORY",type="string",JSONPath=`.status.capacity.memory`
// +kubebuilder:printcolumn:name="AGE",type="date",JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="ARCH",type="string",priority=1,JSONPath=`.status.nodeInfo.architecture`
// +kubebuilder:printcolumn:name="MESSAGE",type="string",priority=1,JSONPath=`.status.conditions[?(@.type=="CapacityKnown")].message`
type CloudStackMachineTemplate struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// spec says what is wanted.
	// +required
	Spec CloudStackMachineTemplateSpec `json:"spec,omitzero"`
	// status says what was observed.
	// +optional
	Status CloudStackMachineTemplateStatus `json:"status,omitzero"`
}

// GetConditions returns the conditions of the template.
func (t *CloudStackMachineTemplate) GetConditions() []metav1.Condition { return t.Status.Conditions }

// SetConditions replaces the conditions of the template.
func (t *CloudStackMachineTemplate) SetConditions(conditions []metav1.Condition) {
	t.Status.Conditions = conditions
}

// CloudStackMachineTemplateList is a list of templates.
//
// +kubebuilder:object:root=true
type CloudStackMachineTemplateList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	// items of the list.
	Items []CloudStackMachineTemplate `json:"items"`
}
