package v1beta2

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// JobKind says what an asynchronous job of CloudStack does.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=63
// +kubebuilder:validation:Pattern=`^[A-Z][A-Za-z]*$`
type JobKind string

// The kinds of jobs that are followed.
const (
	JobDeploy                 JobKind = "Deploy"
	JobStart                  JobKind = "Start"
	JobDestroy                JobKind = "Destroy"
	JobAttachToLoadBalancer   JobKind = "AttachToLoadBalancer"
	JobDetachFromLoadBalancer JobKind = "DetachFromLoadBalancer"
	JobCreateAffinityGroup    JobKind = "CreateAffinityGroup"
	JobDeleteAffinityGroup    JobKind = "DeleteAffinityGroup"
	JobCreateVPC              JobKind = "CreateVPC"
	JobDeleteVPC              JobKind = "DeleteVPC"
	JobDeleteNetwork          JobKind = "DeleteNetwork"
	JobAssociateAddress       JobKind = "AssociateAddress"
	JobReleaseAddress         JobKind = "ReleaseAddress"
	JobCreateLoadBalancerRule JobKind = "CreateLoadBalancerRule"
	JobUpdateLoadBalancerRule JobKind = "UpdateLoadBalancerRule"
	JobDeleteLoadBalancerRule JobKind = "DeleteLoadBalancerRule"
	JobCreateFirewallRule     JobKind = "CreateFirewallRule"
	JobDeleteFirewallRule     JobKind = "DeleteFirewallRule"
	JobCreateEgressRule       JobKind = "CreateEgressRule"
	JobDeleteEgressRule       JobKind = "DeleteEgressRule"
	JobCreateTags             JobKind = "CreateTags"
	// JobCreateKubernetesCluster and JobDeleteKubernetesCluster are about the entry in CloudStack's own Kubernetes service.
	JobCreateKubernetesCluster JobKind = "CreateKubernetesCluster"
	JobDeleteKubernetesCluster JobKind = "DeleteKubernetesCluster"
)

// JobReference is an asynchronous job of CloudStack that has not been seen to end.
type JobReference struct {
	// id of the job.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	ID string `json:"id"`

	// kind says what the job does.
	// +required
	Kind JobKind `json:"kind,omitempty"`

	// since is when the job was begun.
	// +required
	Since metav1.Time `json:"since,omitzero"`

	// failureDomain the job works in.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	FailureDomain string `json:"failureDomain,omitempty"`

	// resourceID is the id of what the job works on.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	ResourceID string `json:"resourceID,omitempty"`
}

// Initialization holds what Cluster API waits for before it goes on.
//
// +kubebuilder:validation:MinProperties=1
type Initialization struct {
	// provisioned is true once the infrastructure has been provisioned. It never turns back.
	// +optional
	Provisioned *bool `json:"provisioned,omitempty"`
}

// DeletionProgress tells how a deletion that takes time gets on.
type DeletionProgress struct {
	// since is when the deletion began to wait for what blocks it now.
	// +optional
	Since *metav1.Time `json:"since,omitempty"`

	// attempts counts how often CloudStack was asked to delete what blocks the deletion.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Attempts int32 `json:"attempts,omitempty"`
}
