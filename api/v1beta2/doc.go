// Package v1beta2 is the vocabulary of the infrastructure.cluster.x-k8s.io API in version v1beta2.
//
// +kubebuilder:object:generate=true
// +groupName=infrastructure.cluster.x-k8s.io
package v1beta2
