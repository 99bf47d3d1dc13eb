package v1beta2

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// TemplateCatalogSpec says which images exist and in which zones they are wanted.
type TemplateCatalogSpec struct {
	// identityRef names the Secret with the CloudStack credentials.
	// +required
	IdentityRef IdentityReference `json:"identityRef,omitzero"`

	// owner says on whose behalf templates are registered; the account of the credentials when empty.
	// +optional
	Owner ResourceOwner `json:"owner,omitzero"`

	// zones the images are brought into.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:XValidation:rule="self.all(a, self.exists_one(b, has(a.name) == has(b.name) && (!has(a.name) || a.name == b.name) && has(a.id) == has(b.id) && (!has(a.id) || a.id == b.id) && has(a.hypervisor) == has(b.hypervisor) && (!has(a.hypervisor) || a.hypervisor == b.hypervisor)))",message="names the same zone and hypervisor twice"
	Zones []CatalogZone `json:"zones,omitempty"`

	// images of the catalog.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=400
	Images []CatalogImage `json:"images,omitempty"`

	// delivery says how images get into CloudStack.
	// +optional
	// +kubebuilder:default={mode: Auto}
	Delivery Delivery `json:"delivery,omitzero"`

	// limits bounds every import of the catalog.
	// +optional
	// +kubebuilder:default={}
	Limits ImportLimits `json:"limits,omitzero"`

	// offeringClasses say what the name of a size means, for each Kubernetes version.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	OfferingClasses []OfferingClass `json:"offeringClasses,omitempty"`

	// retention says how long images are kept.
	// +optional
	// +kubebuilder:default={}
	Retention Retention `json:"retention,omitzero"`

	// suspend stops all work on the catalog and its images until it is set back. Nothing is deleted meanwhile.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
}

// CatalogZone is a zone, or the hosts of one hypervisor in a zone.
type CatalogZone struct {
	ZoneReference `json:",inline"`

	// hypervisor of the zone the images are for; the zone's only hypervisor when empty.
	// +optional
	Hypervisor Hypervisor `json:"hypervisor,omitempty"`
}

// CatalogImage is an image: a pattern for many versions, or pinned artifacts.
//
// +kubebuilder:validation:XValidation:rule="has(self.url) != has(self.artifacts)",message="give either a pattern (url, kubernetesVersions, checksum) or artifacts, and not both"
// +kubebuilder:validation:XValidation:rule="has(self.url) || !(has(self.kubernetesVersions) || has(self.checksum) || has(self.hypervisors))",message="kubernetesVersions, checksum and hypervisors belong to a pattern; with artifacts they stand in each artifact"
// +kubebuilder:validation:XValidation:rule="!has(self.url) || has(self.kubernetesVersions)",message="a pattern needs kubernetesVersions"
// +kubebuilder:validation:XValidation:rule="!has(self.url) || has(self.checksum)",message="a pattern needs a checksum; checksum: {insecureSkip: true} does without"
type CatalogImage struct {
	// name of the entry.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`

	// os is the operating system, such as ubuntu-24.04. Machines ask for it by exactly this word.
	// +required
	OS OSName `json:"os,omitempty"`

	// arch is the processor architecture.
	// +optional
	// +kubebuilder:default="x86_64"
	Arch Arch `json:"arch,omitempty"`

	// kubernetesVersions the pattern is filled in for.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	KubernetesVersions []KubernetesVersion `json:"kubernetesVersions,omitempty"`

	// hypervisors the pattern is filled in for; those of the zones when empty.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	Hypervisors []Hypervisor `json:"hypervisors,omitempty"`

	// url is the pattern of the address: a Go template over Version, Major, Minor, Patch, Hypervisor (KVM), HypervisorDir (kvm,
	// vmware, xen), Suffix (qcow2.bz2, ova, vhd.bz2), OS, Arch and Name, with the functions lower, upper, replace and trimPrefix.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	URL string `json:"url,omitempty"`

	// checksum vouches for what the pattern names.
	// +optional
	Checksum *Checksum `json:"checksum,omitempty"`

	// artifacts are the files of the image, one by one.
	// +optional
	// +listType=map
	// +listMapKey=kubernetesVersion
	// +listMapKey=hypervisor
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	Artifacts []CatalogArtifact `json:"artifacts,omitempty"`

	// stage of the image's life.
	// +optional
	// +kubebuilder:default="Supported"
	Stage Stage `json:"stage,omitempty"`

	// expirationDate from which the image is chosen no more and retired.
	// +optional
	ExpirationDate *metav1.Time `json:"expirationDate,omitempty"`

	// template says how the image is registered.
	// +optional
	// +kubebuilder:default={}
	Template TemplateOptions `json:"template,omitzero"`
}

// OSName is the name of an operating system.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=63
// +kubebuilder:validation:Pattern=`^[A-Za-z0-9]([-A-Za-z0-9._]*[A-Za-z0-9])?$`
type OSName string

// CatalogArtifact is one file: an image for one version and one hypervisor.
type CatalogArtifact struct {
	// kubernetesVersion of the image.
	// +required
	KubernetesVersion KubernetesVersion `json:"kubernetesVersion"`

	// hypervisor the image is for.
	// +required
	Hypervisor Hypervisor `json:"hypervisor"`

	ImageSource `json:",inline"`
}

// OfferingClass says what the name of a size means.
type OfferingClass struct {
	// name of the class.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`

	// rules are tried in order; the first whose versions fit decides.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	Rules []OfferingRule `json:"rules,omitempty"`
}

// OfferingRule chooses a service offering for a range of versions.
type OfferingRule struct {
	// kubernetesVersions is a range such as ">=1.33.0"; every version when empty.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=127
	KubernetesVersions string `json:"kubernetesVersions,omitempty"`

	// offering that the rule chooses.
	// +required
	Offering OfferingChoice `json:"offering,omitzero"`
}

// OfferingChoice names a service offering, or asks for the smallest that has enough.
//
// +kubebuilder:validation:XValidation:rule="(has(self.name) ? 1 : 0) + (has(self.id) ? 1 : 0) + (has(self.minimum) ? 1 : 0) == 1",message="give exactly one of name, id or minimum"
type OfferingChoice struct {
	// name of the service offering.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	Name string `json:"name,omitempty"`

	// id of the service offering.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	ID string `json:"id,omitempty"`

	// minimum takes the smallest service offering that has at least this much.
	// +optional
	Minimum *OfferingMinimum `json:"minimum,omitempty"`
}

// Retention says which images of a catalog are kept.
type Retention struct {
	// keepPatchesPerMinor keeps that many of the newest patch versions of each minor version, for each operating system,
	// architecture and hypervisor. All are kept when it is empty.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	KeepPatchesPerMinor *int32 `json:"keepPatchesPerMinor,omitempty"`

	// deletePolicy says what becomes of the templates of images that are not wanted any more.
	// +optional
	// +kubebuilder:default="Retain"
	DeletePolicy DeletePolicy `json:"deletePolicy,omitempty"`
}

// TemplateCatalogStatus is what was observed of a catalog.
//
// +kubebuilder:validation:MinProperties=1
type TemplateCatalogStatus struct {
	// conditions: Ready, CredentialsAvailable, ImagesReady.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// observedGeneration is the generation of the spec that the status describes.
	// +optional
	// +kubebuilder:validation:Minimum=1
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// images counts the images of the catalog, one for each version, hypervisor and zone.
	// +optional
	Images *ImageCounts `json:"images,omitempty"`

	// kubernetesVersions that have a ready image in every zone, oldest first.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=1000
	KubernetesVersions []KubernetesVersion `json:"kubernetesVersions,omitempty"`

	// newestKubernetesVersion is the last of kubernetesVersions.
	// +optional
	NewestKubernetesVersion KubernetesVersion `json:"newestKubernetesVersion,omitempty"`

	// zones of the catalog for people, such as zone-a,zone-b.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Zones string `json:"zones,omitempty"`
}

// ImageCounts counts images.
type ImageCounts struct {
	// total is how many images the catalog wants.
	// +required
	// +kubebuilder:validation:Minimum=0
	Total int32 `json:"total"`

	// ready is how many of them are ready.
	// +required
	// +kubebuilder:validation:Minimum=0
	Ready int32 `json:"ready"`

	// failed is how many of them failed.
	// +required
	// +kubebuilder:validation:Minimum=0
	Failed int32 `json:"failed"`

	// summary is ready and total for people, such as 11/12.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Summary string `json:"summary,omitempty"`
}

// TemplateCatalog says which node images exist; every image arrives in every zone as a verified template.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=templatecatalogs,scope=Namespaced,shortName=tcat,categories=cluster-api
// +kubebuilder:metadata:labels={"cluster.x-k8s.io/v1beta2=v1beta2","clusterctl.cluster.x-k8s.io/move-hierarchy="}
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="READY",type="string",JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="IMAGES",type="string",JSONPath=`.status.images.summary`,description="Ready images of all"
// +kubebuilder:printcolumn:name="VERSIONS",type="string",JSONPath=`.status.newestKubernetesVersion`,description="Newest version that is ready in every zone"
// +kubebuilder:printcolumn:name="ZONES",type="string",JSONPath=`.status.zones`
// +kubebuilder:printcolumn:name="AGE",type="date",JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="REASON",type="string",priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="MESSAGE",type="string",priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 63",message="the name of a catalog has at most 63 characters"
type TemplateCatalog struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// spec says what is wanted.
	// +required
	Spec TemplateCatalogSpec `json:"spec,omitzero"`
	// status says what was observed.
	// +optional
	Status TemplateCatalogStatus `json:"status,omitzero"`
}

// GetConditions returns the conditions of the catalog.
func (c *TemplateCatalog) GetConditions() []metav1.Condition { return c.Status.Conditions }

// SetConditions replaces the conditions of the catalog.
func (c *TemplateCatalog) SetConditions(conditions []metav1.Condition) {
	c.Status.Conditions = conditions
}

// TemplateCatalogList is a list of catalogs.
//
// +kubebuilder:object:root=true
type TemplateCatalogList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	// items of the list.
	Items []TemplateCatalog `json:"items"`
}
