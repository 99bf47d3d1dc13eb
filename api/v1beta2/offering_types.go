package v1beta2

import "k8s.io/apimachinery/pkg/api/resource"

// OfferingMinimum is the least a service offering must have.
//
// +kubebuilder:validation:MinProperties=1
type OfferingMinimum struct {
	// cpu is the number of processors.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=4096
	CPU int32 `json:"cpu,omitempty"`

	// memory is the size of the memory, such as 2Gi.
	// +optional
	Memory *resource.Quantity `json:"memory,omitempty"`
}
