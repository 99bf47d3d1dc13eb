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

// OfferingReference says which service offering a machine gets: one by id or name, that of a class of the catalogs, or
// the smallest that has enough.
//
// +kubebuilder:validation:XValidation:rule=`(self.?id.orValue("") != "" || self.?name.orValue("") != "" ? 1 : 0) + (self.?class.orValue("") != "" ? 1 : 0) + (has(self.minimum) ? 1 : 0) == 1`,message="give exactly one of name or id, class, or minimum"
type OfferingReference struct {
	// id of the service offering. It goes before the name; when both are given they must agree.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	ID string `json:"id,omitempty"`

	// name of the service offering, compared exactly.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:Pattern=`^[^\x00-\x1f\x7f]*$`
	Name string `json:"name,omitempty"`

	// class is the name of a size in offeringClasses of a catalog.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Class string `json:"class,omitempty"`

	// minimum takes the smallest service offering that has at least this much.
	// +optional
	Minimum *OfferingMinimum `json:"minimum,omitempty"`
}
