package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// CloudStackClusterStatus is what was observed of a cluster. All of it can be found again from spec, metadata and CloudStack.
//
// +kubebuilder:validation:MinProperties=1
type CloudStackClusterStatus struct {
	// conditions: Ready, CredentialsAvailable, NetworkReady, EndpointReady, VersionsAvailable, CKSSynced, Paused.
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

	// failureDomains that machines can be placed in.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	FailureDomains []clusterv1.FailureDomain `json:"failureDomains,omitempty"`

	// resolved holds what each failure domain means in CloudStack.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	Resolved []ResolvedFailureDomain `json:"resolved,omitempty"`

	// loadBalancer is the public address of the API with its rules.
	// +optional
	LoadBalancer *LoadBalancerStatus `json:"loadBalancer,omitempty"`

	// jobs of CloudStack that have not been seen to end.
	// +optional
	// +listType=map
	// +listMapKey=id
	// +kubebuilder:validation:MaxItems=64
	Jobs []JobReference `json:"jobs,omitempty"`

	// kubernetesClusterID is the id of the entry in CloudStack's own Kubernetes service.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	KubernetesClusterID string `json:"kubernetesClusterID,omitempty"`

	// deletion tells how the deletion gets on.
	// +optional
	Deletion *DeletionProgress `json:"deletion,omitempty"`
}

// Domain finds what a failure domain means in CloudStack; nil when it is not resolved. The result points into the status.
func (s *CloudStackClusterStatus) Domain(name string) *ResolvedFailureDomain {
	for i := range s.Resolved {
		if s.Resolved[i].Name == name {
			return &s.Resolved[i]
		}
	}
	return nil
}

// TakesControlPlane tells whether control-plane machines may be placed in a failure domain of the cluster: as it says itself, and
// when it says nothing not where the load balancer of the cluster could not reach them.
func (c *CloudStackCluster) TakesControlPlane(d *FailureDomainSpec) bool {
	lb, known := c.Status.LoadBalancer, c.Status.Domain(d.Name)
	if d.ControlPlane != nil || !c.Spec.ControlPlaneLoadBalancer.IsEnabled() || lb == nil || lb.NetworkID == "" || known == nil || known.Network == nil {
		return d.TakesControlPlane()
	}
	return known.Network.ID == lb.NetworkID
}

// ResolvedOwner is on whose behalf things are created; empty means the account of the credentials.
type ResolvedOwner struct {
	// projectID is the id of the project.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	ProjectID string `json:"projectID,omitempty"`

	// domainID is the id of the domain of the account.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	DomainID string `json:"domainID,omitempty"`

	// account is the name of the account.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	Account string `json:"account,omitempty"`
}

// ResolvedFailureDomain is what a failure domain means in CloudStack.
type ResolvedFailureDomain struct {
	// name of the failure domain. With spec.zone it is the name of the zone.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Name string `json:"name"`

	// identityRef names the Secret with the credentials.
	// +optional
	IdentityRef IdentityReference `json:"identityRef,omitzero"`

	// owner is on whose behalf things are created.
	// +optional
	Owner ResolvedOwner `json:"owner,omitzero"`

	// zoneID is the id of the zone.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	ZoneID string `json:"zoneID,omitempty"`

	// zoneName is the name of the zone.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	ZoneName string `json:"zoneName,omitempty"`

	// hypervisors that hosts of the zone have, or the only one the failure domain names.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=63
	Hypervisors []string `json:"hypervisors,omitempty"`

	// network of the machines.
	// +optional
	Network *ResolvedNetwork `json:"network,omitempty"`

	// vpc the network is a tier of.
	// +optional
	VPC *ResolvedVPC `json:"vpc,omitempty"`
}

// ResolvedNetwork is a network in CloudStack.
type ResolvedNetwork struct {
	// id of the network.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	ID string `json:"id"`

	// name of the network.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	Name string `json:"name,omitempty"`

	// type of the network in CloudStack's spelling.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Type string `json:"type,omitempty"`

	// routed says that the network routes instead of translating addresses.
	// +optional
	Routed bool `json:"routed,omitempty"`

	// created says that the network was created for the cluster and is deleted with it.
	// +optional
	Created bool `json:"created,omitempty"`

	// egressRuleIDs are the ids of the egress rules that were created for the cluster.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=64
	EgressRuleIDs []string `json:"egressRuleIDs,omitempty"`
}

// ResolvedVPC is a VPC in CloudStack.
type ResolvedVPC struct {
	// id of the VPC.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	ID string `json:"id"`

	// name of the VPC.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	Name string `json:"name,omitempty"`

	// created says that the VPC was created for the cluster and is deleted with it.
	// +optional
	Created bool `json:"created,omitempty"`
}

// LoadBalancerStatus is the public address of the API with its rules.
type LoadBalancerStatus struct {
	// failureDomain whose network holds the load balancer.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	FailureDomain string `json:"failureDomain,omitempty"`

	// networkID is the id of the network that holds the load balancer.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	NetworkID string `json:"networkID,omitempty"`

	// publicIPID is the id of the public address. It belongs to the address and not to the lease.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	PublicIPID string `json:"publicIPID,omitempty"`

	// publicIP is the public address.
	// +optional
	// +kubebuilder:validation:MaxLength=45
	PublicIP string `json:"publicIP,omitempty"`

	// created says that the address was taken for the cluster and is released with it.
	// +optional
	Created bool `json:"created,omitempty"`

	// rules of the load balancer, that of the API first.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=32
	Rules []LoadBalancerRuleStatus `json:"rules,omitempty"`

	// firewallRules that let clients in.
	// +optional
	// +listType=map
	// +listMapKey=id
	// +kubebuilder:validation:MaxItems=128
	FirewallRules []FirewallRuleStatus `json:"firewallRules,omitempty"`
}

// APIRuleName is the name of the rule of the API in LoadBalancerStatus.Rules.
const APIRuleName = "api"

// RuleIDs are the ids of all rules of the load balancer, in order; none when there is no load balancer.
func (l *LoadBalancerStatus) RuleIDs() []string {
	if l == nil {
		return nil
	}
	var ids []string
	for i := range l.Rules {
		if l.Rules[i].ID != "" {
			ids = append(ids, l.Rules[i].ID)
		}
	}
	return ids
}

// LoadBalancerRuleStatus is a load-balancer rule that was created for the cluster.
type LoadBalancerRuleStatus struct {
	// name of the port: api, or that of an additional port.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`

	// id of the rule.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	ID string `json:"id,omitempty"`

	// publicPort that is reached.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	PublicPort int32 `json:"publicPort,omitempty"`

	// privatePort of the machines.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	PrivatePort int32 `json:"privatePort,omitempty"`

	// algorithm of the rule in CloudStack's spelling; empty while it is not known.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Algorithm string `json:"algorithm,omitempty"`

	// cidrs that the rule takes connections from, separated by commas, where no firewall rule decides that; all when empty.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	CIDRs string `json:"cidrs,omitempty"`
}

// FirewallRuleStatus is a firewall rule that was created for the cluster.
type FirewallRuleStatus struct {
	// id of the rule.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	ID string `json:"id"`

	// port that the rule opens.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port,omitempty"`

	// cidrs that the rule lets in, separated by commas.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	CIDRs string `json:"cidrs,omitempty"`
}
