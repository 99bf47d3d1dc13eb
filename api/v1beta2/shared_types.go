package v1beta2

import "k8s.io/apimachinery/pkg/api/resource"

// KubernetesVersion is a version of exactly three numbers after one optional leading v, with an optional pre-release and build.
//
// +kubebuilder:validation:MinLength=5
// +kubebuilder:validation:MaxLength=63
// +kubebuilder:validation:XValidation:rule="self.matches('^v?[0-9]+[.][0-9]+[.][0-9]+([-+][-+.0-9A-Za-z]+)?$')",message="must be one version of three numbers such as v1.33.1, optionally with a pre-release (-rc.1) or a build (+k3s1)"
// +kubebuilder:validation:XValidation:rule="!self.matches('-[0-9]+([.][0-9]+)*([+].*)?$')",message="ends in a package revision such as -1.1; write the Kubernetes version alone, for example v1.29.6"
type KubernetesVersion string

// Hypervisor is a CloudStack hypervisor.
//
// +kubebuilder:validation:Enum=KVM;VMware;XenServer;Simulator
type Hypervisor string

// The hypervisors an image can be made for.
const (
	HypervisorKVM       Hypervisor = "KVM"
	HypervisorVMware    Hypervisor = "VMware"
	HypervisorXenServer Hypervisor = "XenServer"
	HypervisorSimulator Hypervisor = "Simulator"
)

// Arch is a processor architecture in CloudStack's spelling.
//
// +kubebuilder:validation:Enum=x86_64;aarch64
type Arch string

// The architectures an image can be made for.
const (
	ArchX8664   Arch = "x86_64"
	ArchAArch64 Arch = "aarch64"
)

// Format is the format of a disk image in CloudStack's spelling.
//
// +kubebuilder:validation:Enum=QCOW2;RAW;VHD;OVA
type Format string

// The formats of disk images.
const (
	FormatQCOW2 Format = "QCOW2"
	FormatRAW   Format = "RAW"
	FormatVHD   Format = "VHD"
	FormatOVA   Format = "OVA"
)

// Stage is where an image stands in its life.
//
// +kubebuilder:validation:Enum=Preview;Supported;Deprecated
type Stage string

// The stages of an image. An image whose expiration date has passed is expired whatever its stage.
const (
	// StagePreview images are chosen only by those who name them.
	StagePreview Stage = "Preview"
	// StageSupported images are chosen normally.
	StageSupported Stage = "Supported"
	// StageDeprecated images are chosen, with a warning.
	StageDeprecated Stage = "Deprecated"
)

// DeletePolicy says what becomes of a template when its image is deleted.
//
// +kubebuilder:validation:Enum=Retain;Delete
type DeletePolicy string

// The delete policies.
const (
	// DeletePolicyRetain leaves the template in CloudStack.
	DeletePolicyRetain DeletePolicy = "Retain"
	// DeletePolicyDelete deletes the template that was registered for the image. An adopted template is never deleted.
	DeletePolicyDelete DeletePolicy = "Delete"
)

// DeliveryMode says how an image gets into CloudStack. In every mode the manager has fetched and verified it first.
//
// +kubebuilder:validation:Enum=Auto;Pull;Serve;Upload
type DeliveryMode string

// The delivery modes.
const (
	// DeliveryAuto takes Pull where the source allows it, else Serve where the manager has an external URL, else Upload.
	DeliveryAuto DeliveryMode = "Auto"
	// DeliveryPull lets CloudStack download from the source itself.
	DeliveryPull DeliveryMode = "Pull"
	// DeliveryServe lets CloudStack download the verified image from the manager.
	DeliveryServe DeliveryMode = "Serve"
	// DeliveryUpload uploads the verified image to CloudStack's secondary storage.
	DeliveryUpload DeliveryMode = "Upload"
)

// Visibility says who sees a template.
//
// +kubebuilder:validation:Enum=Private;Public;Featured
type Visibility string

// The visibilities of a template.
const (
	VisibilityPrivate  Visibility = "Private"
	VisibilityPublic   Visibility = "Public"
	VisibilityFeatured Visibility = "Featured"
)

// ChecksumAlgorithm is a digest algorithm.
//
// +kubebuilder:validation:Enum=md5;sha1;sha224;sha256;sha384;sha512
type ChecksumAlgorithm string

// IdentityReference names the Secret with the CloudStack credentials.
type IdentityReference struct {
	// name of the Secret in the namespace of the object.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// keys of the Secret, where they differ from the usual ones.
	// +optional
	Keys IdentityKeys `json:"keys,omitzero"`
}

// SecretKey is a key of a Secret.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=253
// +kubebuilder:validation:Pattern=`^[-._a-zA-Z0-9]+$`
type SecretKey string

// IdentityKeys names the keys of a credentials Secret.
//
// +kubebuilder:validation:MinProperties=1
type IdentityKeys struct {
	// apiURL is the key of the URL of the CloudStack API; api-url when empty.
	// +optional
	APIURL SecretKey `json:"apiURL,omitempty"`

	// apiKey is the key of the API key; api-key when empty.
	// +optional
	APIKey SecretKey `json:"apiKey,omitempty"`

	// secretKey is the key of the secret key; secret-key when empty.
	// +optional
	SecretKey SecretKey `json:"secretKey,omitempty"`

	// verifySSL is the key that turns TLS verification off when its value is "false"; verify-ssl when empty.
	// +optional
	VerifySSL SecretKey `json:"verifySSL,omitempty"`

	// caCert is the key of the PEM certificates that vouch for the CloudStack API; ca-cert when empty.
	// +optional
	CACert SecretKey `json:"caCert,omitempty"`
}

// ResourceOwner says on whose behalf templates are registered: a project, or an account of a domain.
//
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:XValidation:rule="has(self.project) ? !has(self.domain) && !has(self.account) : has(self.domain) && has(self.account)",message="give either project, or domain and account together"
type ResourceOwner struct {
	// project is the name or id of the project.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	Project string `json:"project,omitempty"`

	// domain is the path (ROOT/team) or id of the account's domain.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	Domain string `json:"domain,omitempty"`

	// account is the name of the account.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	Account string `json:"account,omitempty"`
}

// ZoneReference names a CloudStack zone.
//
// +kubebuilder:validation:XValidation:rule="has(self.name) != has(self.id)",message="give either the name or the id of the zone"
type ZoneReference struct {
	// name of the zone.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:Pattern=`^[^\x00-\x1f\x7f]*$`
	Name string `json:"name,omitempty"`

	// id of the zone.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	ID string `json:"id,omitempty"`
}

// TemplateReference names a CloudStack template.
//
// +kubebuilder:validation:XValidation:rule="has(self.name) != has(self.id)",message="give either the name or the id of the template"
type TemplateReference struct {
	// name of the template. It must be the only one of its name that the owner has in the zone.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:Pattern=`^[^\x00-\x1f\x7f]*$`
	Name string `json:"name,omitempty"`

	// id of the template.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	ID string `json:"id,omitempty"`
}

// SourceURL is an http or https URL with a host and a path, without user name, password or blanks.
//
// +kubebuilder:validation:MinLength=8
// +kubebuilder:validation:MaxLength=2048
// +kubebuilder:validation:Pattern=`^[a-z]+://[^/?#@\s]+/\S*$`
// +kubebuilder:validation:XValidation:rule="self.startsWith('http://') || self.startsWith('https://')",message="must be an http or https URL"
type SourceURL string

// Checksum vouches for the bytes of an image as they are downloaded.
//
// +kubebuilder:validation:XValidation:rule="(has(self.value) ? 1 : 0) + (has(self.url) ? 1 : 0) + (has(self.insecureSkip) && self.insecureSkip ? 1 : 0) == 1",message="give exactly one of value (with algorithm), url, or insecureSkip: true"
// +kubebuilder:validation:XValidation:rule="!has(self.value) || has(self.algorithm)",message="value needs its algorithm, such as algorithm: sha256"
// +kubebuilder:validation:XValidation:rule="!has(self.algorithm) || has(self.value) || has(self.url)",message="algorithm belongs to a value or to a checksum file at url"
// +kubebuilder:validation:XValidation:rule="!has(self.value) || !has(self.algorithm) || self.value.size() == {'md5': 32, 'sha1': 40, 'sha224': 56, 'sha256': 64, 'sha384': 96, 'sha512': 128}[self.algorithm]",message="value does not have the length of the algorithm: md5 32, sha1 40, sha224 56, sha256 64, sha384 96, sha512 128 hex digits"
// +kubebuilder:validation:XValidation:rule="!has(self.algorithm) || !(self.algorithm in ['md5', 'sha1']) || (has(self.allowWeak) && self.allowWeak)",message="md5 and sha1 are weak: use sha256, or set allowWeak: true"
// +kubebuilder:validation:XValidation:rule="!has(self.value) || self.value.matches('^[0-9a-fA-F]+$')",message="value must be hex digits alone, without the name of the algorithm"
type Checksum struct {
	// algorithm of value, or the one to take from a checksum file that has several.
	// +optional
	Algorithm ChecksumAlgorithm `json:"algorithm,omitempty"`

	// value is the digest in hex digits.
	// +optional
	// +kubebuilder:validation:MinLength=32
	// +kubebuilder:validation:MaxLength=128
	Value string `json:"value,omitempty"`

	// url of a checksum file: GNU, BSD or OpenSSL form, a bare digest, or a list that names the image. In a pattern it is
	// a template with the additional variable URL.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	URL string `json:"url,omitempty"`

	// allowWeak accepts MD5 and SHA-1, with a warning in the conditions.
	// +optional
	AllowWeak bool `json:"allowWeak,omitempty"`

	// insecureSkip accepts the image with nothing to vouch for it.
	// +optional
	InsecureSkip bool `json:"insecureSkip,omitempty"`
}

// TemplateOptions says how an image is registered.
type TemplateOptions struct {
	// osType is the name or id of the CloudStack OS type. When empty a generic 64-bit Linux is taken.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	OSType string `json:"osType,omitempty"`

	// visibility says who sees the template. Public and Featured may need more rights than an ordinary account has.
	// +optional
	// +kubebuilder:default="Private"
	Visibility Visibility `json:"visibility,omitempty"`

	// details of the template, such as rootDiskController. Keys that start with "capcat." are reserved.
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(k, k.size() > 0 && k.size() <= 255 && !k.startsWith('capcat.'))",message="keys have 1 to 255 characters and do not start with the reserved 'capcat.'"
	Details map[string]DetailValue `json:"details,omitempty"`

	// passwordEnabled offers CloudStack's reset of the guest's password.
	// +optional
	PasswordEnabled bool `json:"passwordEnabled,omitempty"`

	// sshKeyEnabled offers CloudStack's reset of the guest's SSH key.
	// +optional
	SSHKeyEnabled bool `json:"sshKeyEnabled,omitempty"`

	// dynamicallyScalable says that the guest has the tools to grow CPU and memory while it runs.
	// +optional
	DynamicallyScalable bool `json:"dynamicallyScalable,omitempty"`

	// requiresHVM says that the guest needs hardware virtualisation.
	// +optional
	// +kubebuilder:default=true
	RequiresHVM *bool `json:"requiresHVM,omitempty"`

	// extractable lets others download the template from CloudStack.
	// +optional
	Extractable bool `json:"extractable,omitempty"`
}

// DetailValue is the value of a template detail.
//
// +kubebuilder:validation:MaxLength=255
type DetailValue string

// Delivery says how images get into CloudStack.
type Delivery struct {
	// mode of delivery.
	// +optional
	// +kubebuilder:default="Auto"
	Mode DeliveryMode `json:"mode,omitempty"`
}

// ImportLimits bounds what an import may take. Every limit is a number of bytes.
//
// +kubebuilder:validation:XValidation:rule="!has(self.maxDownload) || quantity(string(self.maxDownload)).isGreaterThan(quantity('0'))",message="maxDownload must be a size above zero such as 20Gi"
// +kubebuilder:validation:XValidation:rule="!has(self.maxOutput) || quantity(string(self.maxOutput)).isGreaterThan(quantity('0'))",message="maxOutput must be a size above zero such as 64Gi"
// +kubebuilder:validation:XValidation:rule="!has(self.maxVirtualSize) || quantity(string(self.maxVirtualSize)).isGreaterThan(quantity('0'))",message="maxVirtualSize must be a size above zero such as 1Ti"
type ImportLimits struct {
	// maxDownload bounds the file as downloaded.
	// +optional
	// +kubebuilder:default="64Gi"
	MaxDownload *resource.Quantity `json:"maxDownload,omitempty"`

	// maxOutput bounds the file after decompression.
	// +optional
	// +kubebuilder:default="64Gi"
	MaxOutput *resource.Quantity `json:"maxOutput,omitempty"`

	// maxVirtualSize bounds the size of the disk that a machine would see.
	// +optional
	// +kubebuilder:default="1Ti"
	MaxVirtualSize *resource.Quantity `json:"maxVirtualSize,omitempty"`
}
