package machine

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/cluster-api/util/annotations"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/controllers/cloudstack"
	"github.com/capcat/capcat/controllers/internal/kube"
)

// scope is what one reconcile knows.
type scope struct {
	key types.NamespacedName
	// m is changed by the phases; before is how it was read.
	m, before *infrav1.CloudStackMachine
	saver     *kube.Saver[*infrav1.CloudStackMachine]
	now       time.Time

	// machine, cluster and infra are set by findOwners, each nil where it does not exist.
	machine *clusterv1.Machine
	cluster *clusterv1.Cluster
	infra   *infrav1.CloudStackCluster

	// place and session are set by resolve, or by connect when the machine is deleted.
	place   place
	session *cloudstack.Session
	// vm is the VM as it was last seen; nil when it was not.
	vm *cloudstack.VM
	// lost is set when CloudStack does not list the VM that the machine had.
	lost bool
	// unseen is set when nothing was learnt about the VM, so that the conditions stay as they are.
	unseen bool
	// attached says how the VM stands with the load balancer; set by expose.
	attached attachment
	// userData is how long the user data are after base64; set before a deployment.
	userData int
	// warnings are for people: events.
	warnings []string
	// released is set when the finalizer is gone.
	released bool
}

func newScope(c client.Client, m *infrav1.CloudStackMachine, now time.Time) *scope {
	return &scope{
		key: client.ObjectKeyFromObject(m), m: m, before: m.DeepCopy(), now: now,
		saver: kube.NewSaver(c, m, func(m *infrav1.CloudStackMachine) any { return &m.Status }),
	}
}

func (s *scope) deleting() bool { return !s.m.DeletionTimestamp.IsZero() }

func (s *scope) paused() bool {
	if s.cluster == nil {
		return annotations.HasPaused(s.m)
	}
	return annotations.IsPaused(s.cluster, s.m)
}

// identity is the owner mark of the machine; empty before it was written.
func (s *scope) identity() string { return s.m.Annotations[infrav1.AnnotationIdentity] }

// provisioned tells whether the machine has been a Node's machine: then its VM is never replaced.
func (s *scope) provisioned() bool { return s.m.Spec.ProviderID != "" }

func (s *scope) controlPlane() bool { return s.machine != nil && util.IsControlPlaneMachine(s.machine) }

// name is that of the Machine, which people know.
func (s *scope) name() string {
	if s.machine != nil {
		return s.machine.Name
	}
	return s.m.Name
}

// instanceName is the name of the VM. It is settled before the first deployment.
func (s *scope) instanceName() string {
	if s.m.Status.InstanceName != "" {
		return s.m.Status.InstanceName
	}
	return vmName(s.name())
}

// unanswered is the id of a job whose real id is not known because the call that begins it got no answer yet.
const unanswered = "unanswered"

// intent tells how long ago a deployment was begun whose outcome was never saved.
func (s *scope) intent() (time.Duration, bool) {
	job := s.m.Status.Job
	if job == nil || job.Kind != infrav1.JobDeploy || job.ID != unanswered {
		return 0, false
	}
	return s.now.Sub(job.Since.Time), true
}

// begin records a job.
func (s *scope) begin(kind infrav1.JobKind, id, resourceID string) {
	s.m.Status.Job = &infrav1.JobReference{
		ID: id, Kind: kind, Since: metav1.NewTime(s.now.Truncate(time.Second)), FailureDomain: s.place.domain, ResourceID: resourceID,
	}
}

// inJob tells whether a job of one of the kinds is recorded.
func (s *scope) inJob(kinds ...infrav1.JobKind) bool {
	return s.m.Status.Job != nil && slices.Contains(kinds, s.m.Status.Job.Kind)
}

// refuse records that the failure domain did not take the machine.
func (s *scope) refuse(reason string) {
	s.m.Status.Refusals = refused(s.m.Status.Refusals, s.place.domain, reason, s.now)
}

// ours tells whether a VM carries the mark of this machine.
func (s *scope) ours(v cloudstack.VM) bool {
	return s.identity() != "" && v.Details[infrav1.MarkOwner] == s.identity()
}
