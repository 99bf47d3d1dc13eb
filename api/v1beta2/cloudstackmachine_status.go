package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// CloudStackMachineStatus is what was observed of a machine. All of it can be found again from spec, metadata and CloudStack.
//
// +kubebuilder:validation:MinProperties=1
type CloudStackMachineStatus struct {
	// conditions: Ready, Resolved, InstanceReady, LoadBalancerAttached, KubeletVersionMatched, Paused.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// observedGeneration is the generation of the spec that the status describes.
	// +optional
	// +kubebuilder:validation:Minimum=1
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// initialization holds what Cluster API waits for before it goes on.
	// +optional
	Initialization Initialization `json:"initialization,omitzero"`

	// addresses of the machine.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	Addresses []clusterv1.MachineAddress `json:"addresses,omitempty"`

	// failureDomain the machine is in.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	FailureDomain string `json:"failureDomain,omitempty"`

	// instanceID is the id of the VM.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	InstanceID string `json:"instanceID,omitempty"`

	// instanceName is the name of the VM, which is its host name.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	InstanceName string `json:"instanceName,omitempty"`

	// instanceState is the state of the VM in CloudStack's spelling.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	InstanceState string `json:"instanceState,omitempty"`

	// instanceStateLastUpdated is when instanceState last changed.
	// +optional
	InstanceStateLastUpdated *metav1.Time `json:"instanceStateLastUpdated,omitempty"`

	// resolved holds what the machine was decided to be, before anything was created.
	// +optional
	Resolved *ResolvedMachine `json:"resolved,omitempty"`

	// job of CloudStack that has not been seen to end.
	// +optional
	Job *JobReference `json:"job,omitempty"`

	// loadBalancerRuleIDs are the rules that the machine is a member of.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=64
	LoadBalancerRuleIDs []string `json:"loadBalancerRuleIDs,omitempty"`

	// volumeIDs are the data disks that were created with the VM and are deleted with it.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=64
	VolumeIDs []string `json:"volumeIDs,omitempty"`

	// attempts counts the deployments that were begun.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Attempts int32 `json:"attempts,omitempty"`

	// refusals are the failure domains that had no room for the machine.
	// +optional
	// +listType=map
	// +listMapKey=failureDomain
	// +kubebuilder:validation:MaxItems=64
	Refusals []FailureDomainRefusal `json:"refusals,omitempty"`

	// deletion tells how the deletion gets on.
	// +optional
	Deletion *DeletionProgress `json:"deletion,omitempty"`
}

// FailureDomainRefusal says why a failure domain did not take a machine.
type FailureDomainRefusal struct {
	// failureDomain that had no room.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	FailureDomain string `json:"failureDomain"`

	// reason of the refusal, as in conditions.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Reason string `json:"reason,omitempty"`

	// at is when it was refused last.
	// +optional
	At *metav1.Time `json:"at,omitempty"`
}

// ResolvedMachine is what a machine was decided to be, as ids of CloudStack.
type ResolvedMachine struct {
	// failureDomain that was chosen.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	FailureDomain string `json:"failureDomain,omitempty"`

	// identityRef names the Secret with the credentials.
	// +optional
	IdentityRef IdentityReference `json:"identityRef,omitzero"`

	// owner is on whose behalf the VM is created.
	// +optional
	Owner ResolvedOwner `json:"owner,omitzero"`

	// zoneID is the id of the zone.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	ZoneID string `json:"zoneID,omitempty"`

	// hypervisor of the template.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Hypervisor string `json:"hypervisor,omitempty"`

	// templateID is the id of the template.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	TemplateID string `json:"templateID,omitempty"`

	// templateName is the name of the template.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	TemplateName string `json:"templateName,omitempty"`

	// imageRef is the name of the CloudStackImage, where one was looked up.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	ImageRef string `json:"imageRef,omitempty"`

	// kubernetesVersion of the image or, with a fixed template, of the Machine.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	KubernetesVersion string `json:"kubernetesVersion,omitempty"`

	// os is the operating system of the image.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	OS string `json:"os,omitempty"`

	// arch is the processor architecture of the image.
	// +optional
	Arch Arch `json:"arch,omitempty"`

	// offeringID is the id of the service offering.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	OfferingID string `json:"offeringID,omitempty"`

	// offeringName is the name of the service offering.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	OfferingName string `json:"offeringName,omitempty"`

	// rootDiskSizeGiB is the size of the root disk that is asked for.
	// +optional
	// +kubebuilder:validation:Minimum=0
	RootDiskSizeGiB int32 `json:"rootDiskSizeGiB,omitempty"`

	// diskOfferingID is the id of the disk offering of the data disk.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	DiskOfferingID string `json:"diskOfferingID,omitempty"`

	// networks of the VM, the default one first.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Networks []ResolvedMachineNetwork `json:"networks,omitempty"`

	// affinityGroupIDs are the affinity groups of the VM.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=64
	AffinityGroupIDs []string `json:"affinityGroupIDs,omitempty"`

	// affinityGroupName is the name of the affinity group that is made for machines like this one.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	AffinityGroupName string `json:"affinityGroupName,omitempty"`

	// choices say why each thing was chosen.
	// +optional
	// +listType=map
	// +listMapKey=subject
	// +kubebuilder:validation:MaxItems=16
	Choices []Choice `json:"choices,omitempty"`
}

// ResolvedMachineNetwork is a network that a VM has an interface in.
type ResolvedMachineNetwork struct {
	// id of the network.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	ID string `json:"id"`

	// name of the network.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	Name string `json:"name,omitempty"`

	// ip is the address that is asked for.
	// +optional
	// +kubebuilder:validation:MaxLength=45
	IP string `json:"ip,omitempty"`
}

// Choice says why something was chosen.
type Choice struct {
	// subject of the choice: failureDomain, image, template, offering, diskOffering, networks, affinity.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Subject string `json:"subject"`

	// why it was chosen, in words.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Why string `json:"why,omitempty"`
}
