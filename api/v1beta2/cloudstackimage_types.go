package v1beta2

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// CloudStackImageSpec describes one image in one zone.
//
// +kubebuilder:validation:XValidation:rule="has(self.source) != has(self.existingTemplate)",message="give either source, to import an image, or existingTemplate, to adopt one"
// +kubebuilder:validation:XValidation:rule="!has(self.source) || !has(self.source.format) || !has(self.hypervisor) || self.hypervisor == 'Simulator' || self.source.format in {'KVM': ['QCOW2', 'RAW'], 'VMware': ['OVA'], 'XenServer': ['VHD']}[self.hypervisor]",message="the format does not suit the hypervisor: KVM takes QCOW2 or RAW, VMware takes OVA, XenServer takes VHD"
type CloudStackImageSpec struct {
	// identityRef names the Secret with the CloudStack credentials.
	// +required
	IdentityRef IdentityReference `json:"identityRef,omitzero"`

	// owner says on whose behalf the template is registered; the account of the credentials when empty.
	// +optional
	Owner ResourceOwner `json:"owner,omitzero"`

	// zone of the template.
	// +required
	Zone ZoneReference `json:"zone,omitzero"`

	// hypervisor the image is for; the zone's only hypervisor when empty.
	// +optional
	Hypervisor Hypervisor `json:"hypervisor,omitempty"`

	// kubernetesVersion of the image.
	// +required
	KubernetesVersion KubernetesVersion `json:"kubernetesVersion,omitempty"`

	// os is the operating system, such as ubuntu-24.04.
	// +required
	OS OSName `json:"os,omitempty"`

	// arch is the processor architecture.
	// +optional
	// +kubebuilder:default="x86_64"
	Arch Arch `json:"arch,omitempty"`

	// source the image is imported from.
	// +optional
	Source *ImageSource `json:"source,omitempty"`

	// existingTemplate is a template to use as it is. It is never changed and never deleted.
	// +optional
	ExistingTemplate *TemplateReference `json:"existingTemplate,omitempty"`

	// delivery says how the image gets into CloudStack.
	// +optional
	// +kubebuilder:default={mode: Auto}
	Delivery Delivery `json:"delivery,omitzero"`

	// limits bounds the import.
	// +optional
	// +kubebuilder:default={}
	Limits ImportLimits `json:"limits,omitzero"`

	// template says how the image is registered.
	// +optional
	// +kubebuilder:default={}
	Template TemplateOptions `json:"template,omitzero"`

	// stage of the image's life.
	// +optional
	// +kubebuilder:default="Supported"
	Stage Stage `json:"stage,omitempty"`

	// expirationDate from which the image is chosen no more.
	// +optional
	ExpirationDate *metav1.Time `json:"expirationDate,omitempty"`

	// deletePolicy says what becomes of the template when this object is deleted.
	// +optional
	// +kubebuilder:default="Retain"
	DeletePolicy DeletePolicy `json:"deletePolicy,omitempty"`

	// suspend stops all work on the image until it is set back.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
}

// ImageSource says where the bytes of an image come from.
type ImageSource struct {
	// urls of the same file, tried in order.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	URLs []SourceURL `json:"urls,omitempty"`

	// checksum vouches for the file.
	// +required
	Checksum Checksum `json:"checksum,omitzero"`

	// format of the disk image; what the hypervisor takes when empty: KVM QCOW2, VMware OVA, XenServer VHD.
	// +optional
	Format Format `json:"format,omitempty"`
}

// ImagePhase is what an image is doing, in one word.
//
// +kubebuilder:validation:Enum=Pending;Fetching;Verifying;Expanding;Inspecting;Registering;Uploading;Downloading;Installing;Ready;Failed;Retained;Deleting
type ImagePhase string

// The phases of an image.
const (
	// PhasePending images wait for something: their turn, credentials, a zone.
	PhasePending ImagePhase = "Pending"
	// PhaseFetching images are downloaded by the manager.
	PhaseFetching ImagePhase = "Fetching"
	// PhaseVerifying images have their digests checked.
	PhaseVerifying ImagePhase = "Verifying"
	// PhaseExpanding images are decompressed.
	PhaseExpanding ImagePhase = "Expanding"
	// PhaseInspecting images have their content checked.
	PhaseInspecting ImagePhase = "Inspecting"
	// PhaseRegistering images are being registered as a template.
	PhaseRegistering ImagePhase = "Registering"
	// PhaseUploading images are uploaded to CloudStack by the manager.
	PhaseUploading ImagePhase = "Uploading"
	// PhaseDownloading images are downloaded by CloudStack.
	PhaseDownloading ImagePhase = "Downloading"
	// PhaseInstalling images are checked and installed by CloudStack.
	PhaseInstalling ImagePhase = "Installing"
	// PhaseReady images can be deployed.
	PhaseReady ImagePhase = "Ready"
	// PhaseFailed images will not become ready without a change.
	PhaseFailed ImagePhase = "Failed"
	// PhaseRetained images are wanted no more and kept while they are in use.
	PhaseRetained ImagePhase = "Retained"
	// PhaseDeleting images are being deleted.
	PhaseDeleting ImagePhase = "Deleting"
)

// CloudStackImageStatus is what was observed of an image.
//
// +kubebuilder:validation:MinProperties=1
type CloudStackImageStatus struct {
	// conditions: Ready, Fetched, Verified, Registered.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// observedGeneration is the generation of the spec that the status describes.
	// +optional
	// +kubebuilder:validation:Minimum=1
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// zoneID is the id of the zone.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	ZoneID string `json:"zoneID,omitempty"`

	// hypervisor the template is for.
	// +optional
	Hypervisor Hypervisor `json:"hypervisor,omitempty"`

	// osTypeID is the id of the CloudStack OS type.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	OSTypeID string `json:"osTypeID,omitempty"`

	// templateID is the id of the template.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	TemplateID string `json:"templateID,omitempty"`

	// templateName is the name of the template.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	TemplateName string `json:"templateName,omitempty"`

	// delivery is the mode by which the template was or is being brought in.
	// +optional
	Delivery DeliveryMode `json:"delivery,omitempty"`

	// failedDeliveries are the modes that failed for a reason of their own and are not tried again.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=4
	FailedDeliveries []DeliveryMode `json:"failedDeliveries,omitempty"`

	// format of the disk image.
	// +optional
	Format Format `json:"format,omitempty"`

	// downloadDigest is the SHA-256 of the file as downloaded, as sha256:<hex>.
	// +optional
	// +kubebuilder:validation:MaxLength=140
	DownloadDigest string `json:"downloadDigest,omitempty"`

	// contentDigest is the SHA-256 of the decompressed image, as sha256:<hex>.
	// +optional
	// +kubebuilder:validation:MaxLength=140
	ContentDigest string `json:"contentDigest,omitempty"`

	// contentCode is the inspector's word for what it rejects or warns of, such as BackingFile.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	ContentCode string `json:"contentCode,omitempty"`

	// virtualSizeBytes is the size of the disk that a machine sees, in bytes.
	// +optional
	// +kubebuilder:validation:Minimum=0
	VirtualSizeBytes int64 `json:"virtualSizeBytes,omitempty"`

	// sizeBytes is the size of the decompressed image file, in bytes.
	// +optional
	// +kubebuilder:validation:Minimum=0
	SizeBytes int64 `json:"sizeBytes,omitempty"`

	// mirrorUsed is the URL that delivered the image, without query.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	MirrorUsed string `json:"mirrorUsed,omitempty"`

	// attempts counts the imports that were begun.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Attempts int32 `json:"attempts,omitempty"`

	// progress of what is being done now.
	// +optional
	Progress *ImageProgress `json:"progress,omitempty"`

	// importedAt is when the image became ready for the first time.
	// +optional
	ImportedAt *metav1.Time `json:"importedAt,omitempty"`

	// references counts what uses the image.
	// +optional
	// +kubebuilder:validation:Minimum=0
	References int32 `json:"references,omitempty"`

	// leftovers are ids of templates that failed and that CloudStack does not let us delete yet.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=64
	Leftovers []string `json:"leftovers,omitempty"`
}

// ImageProgress says how far the work on an image is.
type ImageProgress struct {
	// phase is what is being done.
	// +required
	Phase ImagePhase `json:"phase,omitempty"`

	// percent of the phase that is done.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	Percent *int32 `json:"percent,omitempty"`

	// bytes of the phase that are done.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Bytes int64 `json:"bytes,omitempty"`

	// totalBytes of the phase; empty when unknown.
	// +optional
	// +kubebuilder:validation:Minimum=0
	TotalBytes int64 `json:"totalBytes,omitempty"`

	// bytesPerSecond of late.
	// +optional
	// +kubebuilder:validation:Minimum=0
	BytesPerSecond int64 `json:"bytesPerSecond,omitempty"`

	// since is when the phase began.
	// +optional
	Since *metav1.Time `json:"since,omitempty"`
}

// CloudStackImage is one image in one zone, made by a catalog or by a person.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=cloudstackimages,scope=Namespaced,shortName=csimg,categories=cluster-api
// +kubebuilder:metadata:labels={"cluster.x-k8s.io/v1beta2=v1beta2","clusterctl.cluster.x-k8s.io/move="}
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="VERSION",type="string",JSONPath=`.spec.kubernetesVersion`
// +kubebuilder:printcolumn:name="OS",type="string",JSONPath=`.spec.os`
// +kubebuilder:printcolumn:name="ZONE",type="string",JSONPath=`.spec.zone['name','id']`
// +kubebuilder:printcolumn:name="PHASE",type="string",JSONPath=`.status.progress.phase`
// +kubebuilder:printcolumn:name="PROGRESS",type="integer",JSONPath=`.status.progress.percent`,description="Percent of the phase"
// +kubebuilder:printcolumn:name="TEMPLATE",type="string",JSONPath=`.status.templateID`
// +kubebuilder:printcolumn:name="AGE",type="date",JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="HYPERVISOR",type="string",priority=1,JSONPath=`.status.hypervisor`
// +kubebuilder:printcolumn:name="REASON",type="string",priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="MESSAGE",type="string",priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !(has(oldSelf.status.contentDigest) || has(oldSelf.status.templateID)) || (has(self.spec.source) == has(oldSelf.spec.source) && (!has(self.spec.source) || self.spec.source == oldSelf.spec.source) && has(self.spec.existingTemplate) == has(oldSelf.spec.existingTemplate) && (!has(self.spec.existingTemplate) || self.spec.existingTemplate == oldSelf.spec.existingTemplate))",message="the image has been imported, so source and existingTemplate cannot be changed: create a new image"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !(has(oldSelf.status.contentDigest) || has(oldSelf.status.templateID)) || (self.spec.kubernetesVersion == oldSelf.spec.kubernetesVersion && self.spec.os == oldSelf.spec.os && has(self.spec.arch) == has(oldSelf.spec.arch) && (!has(self.spec.arch) || self.spec.arch == oldSelf.spec.arch) && has(self.spec.hypervisor) == has(oldSelf.spec.hypervisor) && (!has(self.spec.hypervisor) || self.spec.hypervisor == oldSelf.spec.hypervisor))",message="the image has been imported, so kubernetesVersion, os, arch and hypervisor cannot be changed: create a new image"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !(has(oldSelf.status.contentDigest) || has(oldSelf.status.templateID)) || (self.spec.zone == oldSelf.spec.zone && has(self.spec.owner) == has(oldSelf.spec.owner) && (!has(self.spec.owner) || self.spec.owner == oldSelf.spec.owner))",message="the image has been imported, so zone and owner cannot be changed: create a new image"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !has(oldSelf.status.templateID) || has(self.spec.template) == has(oldSelf.spec.template) && (!has(self.spec.template) || self.spec.template == oldSelf.spec.template)",message="the template has been registered, so its options cannot be changed: create a new image"
type CloudStackImage struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// spec says what is wanted.
	// +required
	Spec CloudStackImageSpec `json:"spec,omitzero"`
	// status says what was observed.
	// +optional
	Status CloudStackImageStatus `json:"status,omitzero"`
}

// GetConditions returns the conditions of the image.
func (i *CloudStackImage) GetConditions() []metav1.Condition { return i.Status.Conditions }

// SetConditions replaces the conditions of the image.
func (i *CloudStackImage) SetConditions(conditions []metav1.Condition) {
	i.Status.Conditions = conditions
}

// CloudStackImageList is a list of images.
//
// +kubebuilder:object:root=true
type CloudStackImageList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	// items of the list.
	Items []CloudStackImage `json:"items"`
}
