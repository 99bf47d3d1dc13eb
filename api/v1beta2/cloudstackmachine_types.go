package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// CloudStackMachineSpec says what VM a machine is.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.image) && has(self.template))",message="give either image, to have one looked up by the version of the Machine, or template, to fix one"
// +kubebuilder:validation:XValidation:rule=`self.?affinity.orValue("") in ["", 'no'] || self.?affinityGroupIDs.orValue([]).size() == 0`,message="give either affinity or affinityGroupIDs"
// +kubebuilder:validation:XValidation:rule="!has(self.rootDiskSizeGiB) || !has(self.details) || !self.details.exists(k, k.lowerAscii() == 'rootdisksize')",message="give the size of the root disk either in rootDiskSizeGiB or in details"
// +kubebuilder:validation:XValidation:rule=`oldSelf.?providerID.orValue("") == "" || self.?providerID.orValue("") == oldSelf.providerID`,message="providerID cannot be changed once it is set"
type CloudStackMachineSpec struct {
	// offering is the service offering: the size of the VM.
	// +required
	Offering OfferingReference `json:"offering,omitzero"`

	// image asks for an image by the Kubernetes version of the Machine. It is assumed when template is empty too.
	// +optional
	Image *MachineImage `json:"image,omitempty"`

	// template fixes the CloudStack template, whatever the version of the Machine.
	// +optional
	Template *ResourceIdentifier `json:"template,omitempty"`

	// rootDiskSizeGiB is the size of the root disk; that of the image or of the offering when empty.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65536
	RootDiskSizeGiB int32 `json:"rootDiskSizeGiB,omitempty"`

	// diskOffering adds a data disk, which is deleted with the machine. One whose fields are all empty adds none.
	// +optional
	DiskOffering *DiskOfferingReference `json:"diskOffering,omitempty"`

	// networks of the machine, the default one first; the network of the failure domain when empty. The first must be that
	// of the failure domain where the load balancer or the cluster's own network is used.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Networks []MachineNetwork `json:"networks,omitempty"`

	// sshKey is the name of the SSH key pair in CloudStack that is put into the machine.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:Pattern=`^[^\x00-\x1f\x7f]*$`
	SSHKey string `json:"sshKey,omitempty"`

	// details are passed to CloudStack as they are, such as cpuNumber and memory of a custom offering. Keys that start
	// with capcat. are reserved.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="self.all(k, k.size() > 0 && k.size() <= 255 && !k.startsWith('capcat.'))",message="keys have 1 to 255 characters and do not start with the reserved 'capcat.'"
	Details map[string]MachineDetailValue `json:"details,omitempty"`

	// affinity keeps the machines of one control plane or MachineDeployment on the same host or apart, through an affinity
	// group that is made and deleted for them; no when empty.
	// +optional
	Affinity Affinity `json:"affinity,omitempty"`

	// affinityGroupIDs are existing affinity groups, instead of affinity.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=64
	AffinityGroupIDs []string `json:"affinityGroupIDs,omitempty"`

	// failureDomainName places the machine when its Machine does not ask for a failure domain.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	FailureDomainName string `json:"failureDomainName,omitempty"`

	// uncompressedUserData true never compresses the user data. Otherwise cloud-config is compressed, and nothing else is.
	// +optional
	UncompressedUserData *bool `json:"uncompressedUserData,omitempty"`

	// providerID is cloudstack:///<uuid> with the id of the VM. It is filled in when the VM exists.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	ProviderID string `json:"providerID,omitempty"`

	// id is accepted in manifests that were written for Cluster API Provider CloudStack, and has no effect, as there. To take a
	// VM that is there, set providerID.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	ID string `json:"id,omitempty"`

	// name is accepted in manifests that were written for Cluster API Provider CloudStack, and has no effect, as there: a VM is
	// named after its Machine.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	Name string `json:"name,omitempty"`
}

// DataDisk is the disk offering of the data disk that a machine gets; nil when it gets none. A diskOffering in which every
// field is empty, as Cluster API Provider CloudStack writes it, asks for none.
func (s *CloudStackMachineSpec) DataDisk() *DiskOfferingReference {
	if s.DiskOffering == nil || *s.DiskOffering == (DiskOfferingReference{}) {
		return nil
	}
	return s.DiskOffering
}

// ResourceIdentifier names something in CloudStack.
//
// +kubebuilder:validation:XValidation:rule=`self.?id.orValue("") != "" || self.?name.orValue("") != ""`,message="give a name or an id"
type ResourceIdentifier struct {
	// id in CloudStack. It goes before the name; when both are given they must agree.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	ID string `json:"id,omitempty"`

	// name in CloudStack, compared exactly. It must be the only one.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:Pattern=`^[^\x00-\x1f\x7f]*$`
	Name string `json:"name,omitempty"`
}

// BuildPolicy says what to do when several builds of a version fit a Machine that names none.
//
// +kubebuilder:validation:Enum="";NewestBuild
type BuildPolicy string

// BuildPolicyNewest takes the newest build. Without it several builds are ambiguous.
const BuildPolicyNewest BuildPolicy = "NewestBuild"

// MachineImage says which of the images with the version of the Machine is taken.
type MachineImage struct {
	// os is the operating system, such as ubuntu-24.04; any when empty.
	// +optional
	OS OSName `json:"os,omitempty"`

	// arch is the processor architecture; x86_64 when empty.
	// +optional
	Arch Arch `json:"arch,omitempty"`

	// name of an entry of a catalog. A preview is taken only when it is named so.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name,omitempty"`

	// builds says what to do when several builds of the version fit.
	// +optional
	Builds BuildPolicy `json:"builds,omitempty"`
}

// DiskOfferingReference names the disk offering of a data disk. The disk is attached as it is: file system and mount are
// made by the user data, and mountPath, device, filesystem and label are notes for it.
//
// +kubebuilder:validation:XValidation:rule=`self.?id.orValue("") != "" || self.?name.orValue("") != "" || self.?customSizeInGB.orValue(0) == 0 && [self.?mountPath, self.?device, self.?filesystem, self.?label].all(f, f.orValue("") == "")`,message="give the name or the id of the disk offering"
type DiskOfferingReference struct {
	// id of the disk offering. It goes before the name; when both are given they must agree.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	ID string `json:"id,omitempty"`

	// name of the disk offering, compared exactly.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:Pattern=`^[^\x00-\x1f\x7f]*$`
	Name string `json:"name,omitempty"`

	// customSizeInGB is the size in GiB, for an offering of custom size and only for such.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=65536
	CustomSize int64 `json:"customSizeInGB,omitempty"`

	// mountPath is where the user data mounts the disk.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	MountPath string `json:"mountPath,omitempty"`

	// device that the user data finds the disk at.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	Device string `json:"device,omitempty"`

	// filesystem that the user data makes.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Filesystem string `json:"filesystem,omitempty"`

	// label of the file system.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	Label string `json:"label,omitempty"`
}

// MachineNetwork is a network that a machine has an interface in.
//
// +kubebuilder:validation:XValidation:rule=`self.?id.orValue("") != "" || self.?name.orValue("") != ""`,message="give the name or the id of the network"
// +kubebuilder:validation:XValidation:rule=`self.?ip.orValue("") == "" || isIP(self.ip) && ip(self.ip).family() == 4`,message="ip must be an IPv4 address"
type MachineNetwork struct {
	// name of the network, compared exactly.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:Pattern=`^[^\x00-\x1f\x7f]*$`
	Name string `json:"name,omitempty"`

	// id of the network. It goes before the name.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	ID string `json:"id,omitempty"`

	// ip is the address to take; any free one when empty.
	// +optional
	// +kubebuilder:validation:MaxLength=45
	IP string `json:"ip,omitempty"`
}

// MachineDetailValue is the value of a detail of a VM.
//
// +kubebuilder:validation:MaxLength=4096
// +kubebuilder:validation:Pattern=`^[^\x00-\x09\x0b\x0c\x0e-\x1f\x7f]*$`
type MachineDetailValue string

// Affinity says whether machines share a host.
//
// +kubebuilder:validation:Enum="";no;pro;anti;soft-pro;soft-anti
type Affinity string

// The affinities. The soft ones are wishes.
const (
	AffinityNo       Affinity = "no"
	AffinityPro      Affinity = "pro"
	AffinityAnti     Affinity = "anti"
	AffinitySoftPro  Affinity = "soft-pro"
	AffinitySoftAnti Affinity = "soft-anti"
)

// CloudStackMachine is the infrastructure of a Machine: one VM.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=cloudstackmachines,scope=Namespaced,shortName=csm,categories=cluster-api
// +kubebuilder:metadata:labels={"cluster.x-k8s.io/v1beta2=v1beta2"}
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="CLUSTER",type="string",JSONPath=`.metadata.labels.cluster\.x-k8s\.io/cluster-name`
// +kubebuilder:printcolumn:name="READY",type="string",JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="REASON",type="string",JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="STATE",type="string",JSONPath=`.status.instanceState`,description="State of the VM"
// +kubebuilder:printcolumn:name="VERSION",type="string",JSONPath=`.status.resolved.kubernetesVersion`
// +kubebuilder:printcolumn:name="TEMPLATE",type="string",JSONPath=`.status.resolved.templateName`
// +kubebuilder:printcolumn:name="OFFERING",type="string",JSONPath=`.status.resolved.offeringName`
// +kubebuilder:printcolumn:name="DOMAIN",type="string",JSONPath=`.status.failureDomain`,description="Failure domain"
// +kubebuilder:printcolumn:name="AGE",type="date",JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="MACHINE",type="string",priority=1,JSONPath=`.metadata.ownerReferences[?(@.kind=="Machine")].name`
// +kubebuilder:printcolumn:name="PROVIDERID",type="string",priority=1,JSONPath=`.spec.providerID`
// +kubebuilder:printcolumn:name="MESSAGE",type="string",priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
// +kubebuilder:validation:XValidation:rule=`oldSelf.spec.?providerID.orValue("") == "" && oldSelf.?status.?instanceID.orValue("") == "" && !oldSelf.?status.?job.hasValue() || self.spec.offering == oldSelf.spec.offering && has(self.spec.image) == has(oldSelf.spec.image) && (!has(self.spec.image) || self.spec.image == oldSelf.spec.image) && has(self.spec.template) == has(oldSelf.spec.template) && (!has(self.spec.template) || self.spec.template == oldSelf.spec.template)`,message="the VM exists, so offering, image and template cannot be changed: replace the Machine"
// +kubebuilder:validation:XValidation:rule=`oldSelf.spec.?providerID.orValue("") == "" && oldSelf.?status.?instanceID.orValue("") == "" && !oldSelf.?status.?job.hasValue() || has(self.spec.rootDiskSizeGiB) == has(oldSelf.spec.rootDiskSizeGiB) && (!has(self.spec.rootDiskSizeGiB) || self.spec.rootDiskSizeGiB == oldSelf.spec.rootDiskSizeGiB) && has(self.spec.diskOffering) == has(oldSelf.spec.diskOffering) && (!has(self.spec.diskOffering) || self.spec.diskOffering == oldSelf.spec.diskOffering) && has(self.spec.networks) == has(oldSelf.spec.networks) && (!has(self.spec.networks) || self.spec.networks == oldSelf.spec.networks)`,message="the VM exists, so disks and networks cannot be changed: replace the Machine"
// +kubebuilder:validation:XValidation:rule=`oldSelf.spec.?providerID.orValue("") == "" && oldSelf.?status.?instanceID.orValue("") == "" && !oldSelf.?status.?job.hasValue() || has(self.spec.sshKey) == has(oldSelf.spec.sshKey) && (!has(self.spec.sshKey) || self.spec.sshKey == oldSelf.spec.sshKey) && has(self.spec.details) == has(oldSelf.spec.details) && (!has(self.spec.details) || self.spec.details == oldSelf.spec.details) && has(self.spec.affinity) == has(oldSelf.spec.affinity) && (!has(self.spec.affinity) || self.spec.affinity == oldSelf.spec.affinity) && has(self.spec.affinityGroupIDs) == has(oldSelf.spec.affinityGroupIDs) && (!has(self.spec.affinityGroupIDs) || self.spec.affinityGroupIDs == oldSelf.spec.affinityGroupIDs) && has(self.spec.failureDomainName) == has(oldSelf.spec.failureDomainName) && (!has(self.spec.failureDomainName) || self.spec.failureDomainName == oldSelf.spec.failureDomainName)`,message="the VM exists, so sshKey, details, affinity and failureDomainName cannot be changed: replace the Machine"
type CloudStackMachine struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// spec says what is wanted.
	// +required
	Spec CloudStackMachineSpec `json:"spec,omitzero"`
	// status says what was observed.
	// +optional
	Status CloudStackMachineStatus `json:"status,omitzero"`
}

// GetConditions returns the conditions of the machine.
func (m *CloudStackMachine) GetConditions() []metav1.Condition { return m.Status.Conditions }

// SetConditions replaces the conditions of the machine.
func (m *CloudStackMachine) SetConditions(conditions []metav1.Condition) {
	m.Status.Conditions = conditions
}

// CloudStackMachineList is a list of machines.
//
// +kubebuilder:object:root=true
type CloudStackMachineList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	// items of the list.
	Items []CloudStackMachine `json:"items"`
}
