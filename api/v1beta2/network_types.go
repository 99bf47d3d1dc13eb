package v1beta2

// FailureDomainSpec is a place for machines: a network in a zone, reached with certain credentials on somebody's behalf.
//
// +kubebuilder:validation:XValidation:rule="!has(self.acsEndpoint) || !has(self.acsEndpoint.keys) || has(self.acsEndpoint.name)",message="keys need the name of their Secret"
type FailureDomainSpec struct {
	// name of the failure domain, by which Machines ask for it.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	Name string `json:"name"`

	// acsEndpoint names the Secret with the CloudStack credentials of this failure domain; spec.identityRef when empty.
	// +optional
	ACSEndpoint EndpointReference `json:"acsEndpoint,omitzero"`

	// zone and network of the machines.
	// +optional
	Zone FailureDomainZone `json:"zone,omitzero"`

	// domain is the path (ROOT/team) or id of the account's domain. It counts together with account only.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:Pattern=`^[^\x00-\x1f\x7f]*$`
	Domain string `json:"domain,omitempty"`

	// account everything is created for; the account of the credentials when empty.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:Pattern=`^[^\x00-\x1f\x7f]*$`
	Account string `json:"account,omitempty"`

	// project everything is created in, by name or id. It goes before domain and account.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:Pattern=`^[^\x00-\x1f\x7f]*$`
	Project string `json:"project,omitempty"`

	// hypervisor of the machines; that of the image when empty.
	// +optional
	Hypervisor Hypervisor `json:"hypervisor,omitempty"`

	// controlPlane says whether control-plane machines may be placed here. When it is empty they may, unless the load balancer of the
	// cluster is in another network, from which it cannot reach them.
	// +optional
	ControlPlane *bool `json:"controlPlane,omitempty"`
}

// Owner says on whose behalf things are created in the failure domain; empty means the account of the credentials.
func (d *FailureDomainSpec) Owner() ResourceOwner {
	switch {
	case d.Project != "":
		return ResourceOwner{Project: d.Project}
	case d.Account != "":
		return ResourceOwner{Domain: d.Domain, Account: d.Account}
	}
	return ResourceOwner{}
}

// TakesControlPlane tells whether the failure domain itself lets control-plane machines be placed in it. Where there is a load
// balancer, CloudStackCluster.TakesControlPlane has the last word.
func (d *FailureDomainSpec) TakesControlPlane() bool { return d.ControlPlane == nil || *d.ControlPlane }

// EndpointReference names the Secret with the CloudStack credentials of a failure domain.
type EndpointReference struct {
	// name of the Secret.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`

	// namespace of the Secret. Only the namespace of the cluster itself is accepted.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace,omitempty"`

	// keys of the Secret, where they differ from the usual ones.
	// +optional
	Keys IdentityKeys `json:"keys,omitzero"`
}

// Foreign tells whether the Secret would be one of another namespace than that of its cluster. Such a reference must not
// be followed, and the Secret of the same name in the cluster's namespace must not be taken for it.
func (r EndpointReference) Foreign(namespace string) bool {
	return r.Namespace != "" && r.Namespace != namespace
}

// Identity is the same reference in the form that other kinds use; Foreign has to be asked before.
func (r EndpointReference) Identity() IdentityReference {
	return IdentityReference{Name: r.Name, Keys: r.Keys}
}

// FailureDomainZone is a zone and a network in it. The account's only zone is taken when neither id nor name is given.
type FailureDomainZone struct {
	// name of the zone.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:Pattern=`^[^\x00-\x1f\x7f]*$`
	Name string `json:"name,omitempty"`

	// id of the zone. It goes before the name; when both are given they must agree.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	ID string `json:"id,omitempty"`

	// network of the machines.
	// +optional
	Network Network `json:"network,omitzero"`
}

// NetworkType is a guest network type of CloudStack.
//
// +kubebuilder:validation:Enum="";Isolated;Shared
type NetworkType string

// The types of guest networks.
const (
	// NetworkTypeIsolated networks belong to one account and have a virtual router.
	NetworkTypeIsolated NetworkType = "Isolated"
	// NetworkTypeShared networks are set up by the administrator; they have no load balancer of ours.
	NetworkTypeShared NetworkType = "Shared"
)

// RoutingMode says how a routed network learns its routes.
//
// +kubebuilder:validation:Enum="";Static;Dynamic
type RoutingMode string

// The routing modes. A network without one translates addresses.
const (
	RoutingModeStatic  RoutingMode = "Static"
	RoutingModeDynamic RoutingMode = "Dynamic"
)

// Network names the network that a cluster is built in: an existing one by id or by exactly its name, or, when nothing has
// that name, an isolated one that is created and deleted with the cluster.
//
// +kubebuilder:validation:XValidation:rule=`self.?gateway.orValue("") == "" && self.?netmask.orValue("") == "" || self.?gateway.orValue("") != "" && self.?netmask.orValue("") != ""`,message="gateway and netmask belong together"
// +kubebuilder:validation:XValidation:rule=`self.?gateway.orValue("") == "" || isIP(self.gateway) && ip(self.gateway).family() == 4`,message="gateway must be an IPv4 address"
// +kubebuilder:validation:XValidation:rule=`self.?netmask.orValue("") == "" || isIP(self.netmask) && ip(self.netmask).family() == 4`,message="netmask must be an IPv4 mask such as 255.255.255.0"
// +kubebuilder:validation:XValidation:rule=`self.?type.orValue("") != 'Shared' || self.?offering.orValue("") == "" && self.?gateway.orValue("") == "" && !has(self.vpc) && self.?routingMode.orValue("") == ""`,message="a Shared network is not created here, so it takes no offering, gateway, netmask, vpc or routingMode"
// +kubebuilder:validation:XValidation:rule=`!has(self.vpc) || self.?routingMode.orValue("") == ""`,message="a tier of a VPC takes no routingMode of its own"
type Network struct {
	// name of the network, compared exactly. An isolated network of this name is created when there is none; when name and id
	// are both empty, one with the name of the cluster.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:Pattern=`^[^\x00-\x1f\x7f]*$`
	Name string `json:"name,omitempty"`

	// id of an existing network. It goes before the name.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	ID string `json:"id,omitempty"`

	// type that the network must have. A Shared network is never created.
	// +optional
	Type NetworkType `json:"type,omitempty"`

	// offering by name or id of a network that is created; CloudStack's default isolated offering with source NAT when
	// empty, or the one for tiers in a VPC.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:Pattern=`^[^\x00-\x1f\x7f]*$`
	Offering string `json:"offering,omitempty"`

	// gateway is the IPv4 gateway of a network that is created.
	// +optional
	// +kubebuilder:validation:MaxLength=45
	Gateway string `json:"gateway,omitempty"`

	// netmask is the IPv4 netmask of a network that is created.
	// +optional
	// +kubebuilder:validation:MaxLength=45
	Netmask string `json:"netmask,omitempty"`

	// vpc the network is a tier of.
	// +optional
	VPC *VPC `json:"vpc,omitempty"`

	// routingMode of a routed network, which has neither public address nor load balancer. Empty means address translation.
	// +optional
	RoutingMode RoutingMode `json:"routingMode,omitempty"`
}

// VPC names a virtual private cloud. One that is not there is created when it has a cidr, and deleted with the cluster.
//
// +kubebuilder:validation:XValidation:rule=`self.?name.orValue("") != "" || self.?id.orValue("") != ""`,message="give the name or the id of the VPC"
// +kubebuilder:validation:XValidation:rule=`self.?cidr.orValue("") == "" || isCIDR(self.cidr) && cidr(self.cidr).ip().family() == 4`,message="cidr must be an IPv4 range such as 10.10.0.0/16"
type VPC struct {
	// name of the VPC, compared exactly.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:Pattern=`^[^\x00-\x1f\x7f]*$`
	Name string `json:"name,omitempty"`

	// id of an existing VPC. It goes before the name.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	ID string `json:"id,omitempty"`

	// cidr of a VPC that is created.
	// +optional
	// +kubebuilder:validation:MaxLength=43
	CIDR string `json:"cidr,omitempty"`

	// offering by name or id of a VPC that is created; CloudStack's default VPC offering when empty.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:Pattern=`^[^\x00-\x1f\x7f]*$`
	Offering string `json:"offering,omitempty"`
}
