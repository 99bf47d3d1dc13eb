package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupName is the API group of every kind in this package.
const GroupName = "infrastructure.cluster.x-k8s.io"

// GroupVersion is the group and version of every kind in this package.
var GroupVersion = schema.GroupVersion{Group: GroupName, Version: "v1beta2"}

// AddToScheme registers the kinds of this package in a scheme.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion,
		&TemplateCatalog{}, &TemplateCatalogList{},
		&CloudStackImage{}, &CloudStackImageList{},
		&CloudStackCluster{}, &CloudStackClusterList{},
		&CloudStackClusterTemplate{}, &CloudStackClusterTemplateList{},
		&CloudStackMachine{}, &CloudStackMachineList{},
		&CloudStackMachineTemplate{}, &CloudStackMachineTemplateList{},
	)
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}
