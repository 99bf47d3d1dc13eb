package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// CloudStackClusterSpec says where a cluster is built and how its API is reached.
//
// +kubebuilder:validation:XValidation:rule="!has(self.failureDomains) || self.failureDomains.size() == 0 || !has(self.zone) && !has(self.network)",message="give either failureDomains, or zone and network for a cluster in one zone"
// +kubebuilder:validation:XValidation:rule=`self.?controlPlaneEndpointIP.orValue("") == "" || isIP(self.controlPlaneEndpointIP) && ip(self.controlPlaneEndpointIP).family() == 4`,message="controlPlaneEndpointIP must be an IPv4 address"
// +kubebuilder:validation:XValidation:rule=`oldSelf.?controlPlaneEndpoint.?host.orValue("") == "" || self.?controlPlaneEndpoint.?host.orValue("") == "" || self.controlPlaneEndpoint.host == oldSelf.controlPlaneEndpoint.host`,message="the host of controlPlaneEndpoint cannot be changed once it is set"
// +kubebuilder:validation:XValidation:rule=`oldSelf.?controlPlaneEndpoint.?host.orValue("") == "" || oldSelf.?controlPlaneEndpoint.?port.orValue(0) == 0 || self.?controlPlaneEndpoint.?port.orValue(0) == 0 || self.controlPlaneEndpoint.port == oldSelf.controlPlaneEndpoint.port`,message="the port of controlPlaneEndpoint cannot be changed once the endpoint is set"
// +kubebuilder:validation:XValidation:rule="!has(self.controlPlaneLoadBalancer) || !has(self.controlPlaneLoadBalancer.additionalPorts) || !self.controlPlaneLoadBalancer.additionalPorts.exists(p, p.port == (self.?controlPlaneEndpoint.?port.orValue(0) == 0 ? 6443 : self.controlPlaneEndpoint.port))",message="additionalPorts repeats the port of the API"
type CloudStackClusterSpec struct {
	// identityRef names the Secret with the CloudStack credentials, for every failure domain without its own.
	// +optional
	IdentityRef IdentityReference `json:"identityRef,omitzero"`

	// controlPlaneEndpoint at which the API is reached. It is filled in as soon as a public address is reserved, unless
	// the user or a hosted control plane sets it; with a load balancer, an address set by the user is the one asked for.
	// Once it is set it can be emptied, to be filled in again, and not changed.
	// +optional
	ControlPlaneEndpoint APIEndpoint `json:"controlPlaneEndpoint,omitzero"`

	// controlPlaneEndpointIP is the public address to take for the API; any free one when empty.
	// +optional
	// +kubebuilder:validation:MaxLength=45
	ControlPlaneEndpointIP string `json:"controlPlaneEndpointIP,omitempty"`

	// controlPlaneLoadBalancer describes the load balancer in front of the API.
	// +optional
	ControlPlaneLoadBalancer *ControlPlaneLoadBalancer `json:"controlPlaneLoadBalancer,omitempty"`

	// zone of a cluster that lives in one zone; the account's only zone when empty.
	// +optional
	Zone *ZoneReference `json:"zone,omitempty"`

	// network of a cluster that lives in one zone.
	// +optional
	Network *Network `json:"network,omitempty"`

	// failureDomains are the places for machines, instead of zone and network.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=32
	FailureDomains []FailureDomainSpec `json:"failureDomains,omitempty"`

	// catalogs whose images and offering classes the machines use; every TemplateCatalog of the namespace when empty.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=32
	Catalogs []CatalogReference `json:"catalogs,omitempty"`

	// syncWithACS makes the cluster appear in CloudStack's own Kubernetes service.
	// +optional
	SyncWithACS *bool `json:"syncWithACS,omitempty"`
}

// APIEndpoint is where the API of a cluster is reached.
type APIEndpoint struct {
	// host is the address or name of the API server.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Host string `json:"host,omitempty"`

	// port of the API server; 6443 when empty.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port,omitempty"`
}

// IsZero tells whether neither host nor port is set.
func (e APIEndpoint) IsZero() bool { return e == APIEndpoint{} }

// DefaultAPIPort is the port of the API where none is given.
const DefaultAPIPort int32 = 6443

// CatalogReference names a TemplateCatalog of the same namespace.
type CatalogReference struct {
	// name of the TemplateCatalog.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`
}

// LoadBalancerAlgorithm says how connections are spread over control-plane machines.
//
// +kubebuilder:validation:Enum=RoundRobin;LeastConnections;Source
type LoadBalancerAlgorithm string

// The algorithms of a load balancer.
const (
	// AlgorithmRoundRobin takes the machines in turn.
	AlgorithmRoundRobin LoadBalancerAlgorithm = "RoundRobin"
	// AlgorithmLeastConnections takes the machine with the fewest connections.
	AlgorithmLeastConnections LoadBalancerAlgorithm = "LeastConnections"
	// AlgorithmSource sends a client to the same machine each time.
	AlgorithmSource LoadBalancerAlgorithm = "Source"
)

// ControlPlaneLoadBalancer describes the load balancer in front of the API.
//
// +kubebuilder:validation:XValidation:rule="!has(self.enabled) || self.enabled || !(has(self.algorithm) || has(self.allowedCIDRs) && self.allowedCIDRs.size() > 0 || has(self.additionalPorts) && self.additionalPorts.size() > 0)",message="a load balancer that is not enabled takes no algorithm, allowedCIDRs or additionalPorts"
type ControlPlaneLoadBalancer struct {
	// enabled false does without public address and load balancer; it is enabled when empty, where the network can have one.
	// +optional
	Enabled *bool `json:"enabled,omitempty"`

	// algorithm by which connections are spread; RoundRobin when empty.
	// +optional
	Algorithm LoadBalancerAlgorithm `json:"algorithm,omitempty"`

	// allowedCIDRs are the networks that may reach the load balancer; everybody may when empty. Leave in what the
	// machines of the cluster themselves come from, such as the network's own public address.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=43
	// +kubebuilder:validation:XValidation:rule="self.all(c, isCIDR(c) && cidr(c).ip().family() == 4)",message="each must be an IPv4 range such as 192.0.2.0/24"
	AllowedCIDRs []string `json:"allowedCIDRs,omitempty"`

	// additionalPorts that lead to the control-plane machines as well.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:XValidation:rule="self.all(a, self.exists_one(b, b.port == a.port))",message="a port is given twice"
	AdditionalPorts []LoadBalancerPort `json:"additionalPorts,omitempty"`
}

// IsEnabled tells whether a load balancer is wanted; a missing one is enabled.
func (l *ControlPlaneLoadBalancer) IsEnabled() bool {
	return l == nil || l.Enabled == nil || *l.Enabled
}

// LoadBalancerPort is a port of the load balancer and of the machines behind it.
type LoadBalancerPort struct {
	// name of the port.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`

	// port that is reached, on the load balancer and on the machines.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port"`
}

// CloudStackCluster is the infrastructure of a cluster: its networks, its public address and its load balancer.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=cloudstackclusters,scope=Namespaced,shortName=csc,categories=cluster-api
// +kubebuilder:metadata:labels={"cluster.x-k8s.io/v1beta2=v1beta2"}
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="CLUSTER",type="string",JSONPath=`.metadata.labels.cluster\.x-k8s\.io/cluster-name`
// +kubebuilder:printcolumn:name="READY",type="string",JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="REASON",type="string",JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="PROVISIONED",type="boolean",JSONPath=`.status.initialization.provisioned`
// +kubebuilder:printcolumn:name="ENDPOINT",type="string",JSONPath=`.spec.controlPlaneEndpoint.host`
// +kubebuilder:printcolumn:name="AGE",type="date",JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="DOMAINS",type="string",priority=1,JSONPath=`.status.failureDomains[*].name`,description="Failure domains"
// +kubebuilder:printcolumn:name="MESSAGE",type="string",priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
// +kubebuilder:validation:XValidation:rule=`self.spec.?identityRef.?name.orValue("") != "" || self.spec.?failureDomains.orValue([]).size() > 0 && self.spec.failureDomains.all(d, d.?acsEndpoint.?name.orValue("") != "")`,message="identityRef is needed, unless every failure domain has its acsEndpoint"
// +kubebuilder:validation:XValidation:rule=`!oldSelf.?status.?resolved.hasValue() || !has(oldSelf.spec.failureDomains) || !has(self.spec.failureDomains) || oldSelf.spec.failureDomains.all(o, !oldSelf.status.resolved.exists(r, r.name == o.name) || self.spec.failureDomains.all(n, n.name != o.name || has(n.zone) == has(o.zone) && (!has(n.zone) || n.zone == o.zone) && has(n.domain) == has(o.domain) && (!has(n.domain) || n.domain == o.domain) && has(n.account) == has(o.account) && (!has(n.account) || n.account == o.account) && has(n.project) == has(o.project) && (!has(n.project) || n.project == o.project)))`,message="the failure domain is in use, so its zone, network, domain, account and project cannot be changed: add another one"
// +kubebuilder:validation:XValidation:rule=`!oldSelf.?status.?resolved.hasValue() || oldSelf.status.resolved.size() == 0 || has(self.spec.zone) == has(oldSelf.spec.zone) && (!has(self.spec.zone) || self.spec.zone == oldSelf.spec.zone) && has(self.spec.network) == has(oldSelf.spec.network) && (!has(self.spec.network) || self.spec.network == oldSelf.spec.network)`,message="the network is in use, so zone and network cannot be changed"
// +kubebuilder:validation:XValidation:rule=`oldSelf.?status.?loadBalancer.?publicIPID.orValue("") == "" || !has(self.spec.controlPlaneEndpointIP) || self.spec.controlPlaneEndpointIP == "" || has(oldSelf.spec.controlPlaneEndpointIP) && self.spec.controlPlaneEndpointIP == oldSelf.spec.controlPlaneEndpointIP || has(oldSelf.status.loadBalancer.publicIP) && self.spec.controlPlaneEndpointIP == oldSelf.status.loadBalancer.publicIP`,message="the public address is in use, so controlPlaneEndpointIP cannot be changed"
type CloudStackCluster struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// spec says what is wanted.
	// +required
	Spec CloudStackClusterSpec `json:"spec,omitzero"`
	// status says what was observed.
	// +optional
	Status CloudStackClusterStatus `json:"status,omitzero"`
}

// GetConditions returns the conditions of the cluster.
func (c *CloudStackCluster) GetConditions() []metav1.Condition { return c.Status.Conditions }

// SetConditions replaces the conditions of the cluster.
func (c *CloudStackCluster) SetConditions(conditions []metav1.Condition) {
	c.Status.Conditions = conditions
}

// CloudStackClusterList is a list of clusters.
//
// +kubebuilder:object:root=true
type CloudStackClusterList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	// items of the list.
	Items []CloudStackCluster `json:"items"`
}

// CloudStackClusterTemplateResource is what a cluster is made of.
type CloudStackClusterTemplateResource struct {
	// metadata holds labels and annotations for the clusters.
	// +optional
	ObjectMeta clusterv1.ObjectMeta `json:"metadata,omitzero"`

	// spec of the clusters.
	// +required
	Spec CloudStackClusterSpec `json:"spec,omitzero"`
}

// CloudStackClusterTemplateSpec holds the template.
type CloudStackClusterTemplateSpec struct {
	// template of the clusters. It cannot be changed: make a new one.
	// +required
	Template CloudStackClusterTemplateResource `json:"template,omitzero"`
}

// CloudStackClusterTemplate is what a ClusterClass makes clusters of.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=cloudstackclustertemplates,scope=Namespaced,shortName=csct,categories=cluster-api
// +kubebuilder:metadata:labels={"cluster.x-k8s.io/v1beta2=v1beta2"}
// +kubebuilder:printcolumn:name="AGE",type="date",JSONPath=`.metadata.creationTimestamp`
type CloudStackClusterTemplate struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// spec says what is wanted.
	// +required
	Spec CloudStackClusterTemplateSpec `json:"spec,omitzero"`
}

// CloudStackClusterTemplateList is a list of templates.
//
// +kubebuilder:object:root=true
type CloudStackClusterTemplateList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	// items of the list.
	Items []CloudStackClusterTemplate `json:"items"`
}
