package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/controllers/cloudstack"
	"github.com/capcat/capcat/controllers/internal/ending"
	"github.com/capcat/capcat/controllers/internal/step"
)

const (
	// serviceSince is the first version whose Kubernetes service shows clusters of others.
	serviceSince = "4.19"
	// serviceLook is the pause between two looks at what the Kubernetes service shows.
	serviceLook = 5 * time.Minute
)

// service is how the cluster stands in CloudStack's own Kubernetes service.
type service struct {
	status          metav1.ConditionStatus
	reason, message string
}

// shown is what was last seen there.
type shown struct {
	at      time.Time
	members []string
}

func (s *scope) wantsService() bool { return isTrue(s.c.Spec.SyncWithACS) }

// synchronise shows the cluster with its machines in CloudStack's own Kubernetes service, where that is asked for. Nothing
// waits for it: what goes wrong is told by a condition.
func (r *Reconciler) synchronise(ctx context.Context, s *scope) error {
	var err error
	var rests service
	r.memo(s.key, func(m *memo) {
		if s.now.Before(m.serviceRest) {
			rests = m.serviceTrouble
		}
	})
	switch {
	case rests.status != "":
		s.service, s.remark, s.again = rests, notShown, serviceLook
		return nil
	case s.wantsService():
		err = r.show(ctx, s)
	case s.c.Status.KubernetesClusterID != "" || s.intent(infrav1.JobCreateKubernetesCluster, s.serviceDomain()):
		err = r.hide(ctx, s)
	}
	var waiting *step.Waiting
	if err == nil || errors.As(err, &waiting) || !ending.IsFailure(err) {
		return err
	}
	if s.intent(infrav1.JobCreateKubernetesCluster, s.serviceDomain()) {
		s.end(s.serviceDomain()) // an entry that came into being is found by its name
	}
	reason, message := reasons().Describe(err)
	s.service = service{metav1.ConditionFalse, reason, message + "; nothing else depends on it"}
	s.remark, s.again = notShown, serviceLook
	r.memo(s.key, func(m *memo) { m.serviceTrouble, m.serviceRest = s.service, s.now.Add(serviceLook) })
	return nil
}

const notShown = "CloudStack's own Kubernetes service does not show it as it is"

// serviceDomain is the failure domain whose credentials the entry is made with.
func (s *scope) serviceDomain() string {
	if known := s.balancerDomain(); known != nil {
		return known.Name
	}
	return ""
}

// serviceName is that of the entry. No other cluster of the account has it.
func (s *scope) serviceName() string {
	identity := s.identity()
	return s.clusterName() + "-" + identity[:min(len(identity), 8)]
}

func (r *Reconciler) show(ctx context.Context, s *scope) error {
	known := s.c.Status.Domain(s.serviceDomain())
	if known == nil || known.Network == nil {
		return nil
	}
	session := s.sessions[known.Name]
	able, err := session.Capabilities(ctx)
	switch {
	case err != nil:
		return apiFailure("asking for what CloudStack can do", err)
	case !able.KubernetesService || !cloudstack.AtLeast(able.Version, serviceSince):
		s.service = service{metav1.ConditionFalse, infrav1.ReasonCKSUnsupported, fmt.Sprintf(
			"CloudStack %s has no Kubernetes service for clusters of others, or it is turned off; nothing else depends on it", able.Version)}
		return nil
	case s.c.Status.KubernetesClusterID == "":
		return r.findEntry(ctx, s, known)
	}
	machines, err := r.machines(ctx, s)
	if err != nil {
		return err
	}
	return r.showMembers(ctx, s, known, machines)
}

// findEntry finds the entry of the cluster, or makes it.
func (r *Reconciler) findEntry(ctx context.Context, s *scope, known *infrav1.ResolvedFailureDomain) error {
	named, err := s.sessions[known.Name].KubernetesClustersNamed(ctx, ownerOf(known.Owner), s.serviceName())
	if err != nil {
		return apiFailure("looking for the entry in the Kubernetes service", err)
	}
	for _, k := range named {
		if s.oursByText(k.Description) {
			if s.intent(infrav1.JobCreateKubernetesCluster, known.Name) {
				s.end(known.Name)
			}
			s.c.Status.KubernetesClusterID = k.ID
			return &step.Waiting{Reason: infrav1.ReasonCreating, Message: "the entry in the Kubernetes service is found", After: ending.AtOnce}
		}
	}
	if s.intent(infrav1.JobCreateKubernetesCluster, known.Name) {
		if err := r.patience(s, known.Name, "the entry in the Kubernetes service"); err != nil {
			return err
		}
	}
	if s.serviceFailure != nil {
		return s.serviceFailure
	}
	return r.do(ctx, s, work{
		kind: infrav1.JobCreateKubernetesCluster, domain: known.Name, doing: "showing the cluster in the Kubernetes service", reason: infrav1.ReasonCreating,
		call: func(ctx context.Context, session *cloudstack.Session) (string, cloudstack.Job, error) {
			return session.CreateKubernetesCluster(ctx, cloudstack.NewKubernetesCluster{
				Owner: ownerOf(known.Owner), Name: s.serviceName(), Description: s.markText(), ZoneID: known.ZoneID, NetworkID: known.Network.ID,
			})
		},
		made: func(id string) { s.c.Status.KubernetesClusterID = id },
	})
}

// showMembers compares what the entry shows with the machines there are, when they changed or it was not looked at lately.
func (r *Reconciler) showMembers(ctx context.Context, s *scope, known *infrav1.ResolvedFailureDomain, machines []infrav1.CloudStackMachine) error {
	wanted := map[bool][]string{}
	var all []string
	for i := range machines {
		m := &machines[i]
		if id := m.Status.InstanceID; isMember(m, known) {
			_, controlPlane := m.Labels[clusterv1.MachineControlPlaneLabel]
			wanted[controlPlane] = append(wanted[controlPlane], id)
			all = append(all, id)
		}
	}
	slices.Sort(all)
	s.service = service{metav1.ConditionTrue, infrav1.ReasonReady, fmt.Sprintf("the entry %s shows %d machines", s.c.Status.KubernetesClusterID, len(all))}
	var last shown
	r.memo(s.key, func(m *memo) { last = m.shown })
	if slices.Equal(last.members, all) && s.now.Sub(last.at) < serviceLook {
		return nil
	}
	session, id := s.sessions[known.Name], s.c.Status.KubernetesClusterID
	entry, err := session.FindKubernetesCluster(ctx, ownerOf(known.Owner), id)
	if cloudstack.Is(err, cloudstack.NotFound) {
		s.c.Status.KubernetesClusterID = ""
		return &step.Waiting{Reason: infrav1.ReasonRepairing, Message: "the entry in the Kubernetes service is gone and is made again", After: ending.AtOnce}
	}
	if err != nil {
		return apiFailure("reading the entry in the Kubernetes service", err)
	}
	for _, controlPlane := range []bool{true, false} {
		missing := without(wanted[controlPlane], entry.Members)
		if err := session.AddToKubernetesCluster(ctx, id, controlPlane, missing...); err != nil {
			return apiFailure("showing "+strings.Join(missing, ", ")+" in the Kubernetes service", err)
		}
	}
	surplus := without(entry.Members, all)
	if err := session.RemoveFromKubernetesCluster(ctx, id, surplus...); err != nil {
		return apiFailure("hiding "+strings.Join(surplus, ", ")+" from the Kubernetes service", err)
	}
	r.memo(s.key, func(m *memo) { m.shown = shown{at: s.now, members: all} })
	return nil
}

// isMember tells whether a machine has a VM that is to be shown, which the credentials of the entry reach. One on its way out
// is shown no more before it is destroyed.
func isMember(m *infrav1.CloudStackMachine, known *infrav1.ResolvedFailureDomain) bool {
	res := m.Status.Resolved
	return m.DeletionTimestamp.IsZero() && m.Status.InstanceID != "" && m.Status.InstanceState != "" &&
		res != nil && res.IdentityRef == known.IdentityRef && res.Owner == known.Owner && isTrue(m.Status.Initialization.Provisioned)
}

// without leaves out what the other has.
func without(ids, other []string) []string {
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return slices.Contains(other, id) })
}

// hide deletes the entry of the cluster, and none of its machines. An entry that cannot be deleted because the service is
// turned off does not keep the cluster.
func (r *Reconciler) hide(ctx context.Context, s *scope) error {
	known := s.c.Status.Domain(s.serviceDomain())
	if known == nil || s.c.Status.KubernetesClusterID == "" && !s.wantsService() && !s.intent(infrav1.JobCreateKubernetesCluster, known.Name) {
		return nil
	}
	session := s.sessions[known.Name]
	able, err := session.Capabilities(ctx)
	if err != nil {
		return apiFailure("asking for what CloudStack can do", err)
	}
	if !able.KubernetesService || !cloudstack.AtLeast(able.Version, serviceSince) {
		s.c.Status.KubernetesClusterID = ""
		return nil
	}
	named, err := session.KubernetesClustersNamed(ctx, ownerOf(known.Owner), s.serviceName())
	if err != nil {
		return apiFailure("looking for the entry in the Kubernetes service", err)
	}
	at := slices.IndexFunc(named, func(k cloudstack.KubernetesCluster) bool { return s.oursByText(k.Description) })
	if at < 0 {
		if s.intent(infrav1.JobCreateKubernetesCluster, known.Name) {
			if err := r.patience(s, known.Name, "the entry in the Kubernetes service"); err != nil {
				return err
			}
		}
		s.c.Status.KubernetesClusterID = ""
		return nil
	}
	id := named[at].ID
	s.c.Status.KubernetesClusterID = id
	return r.remove(ctx, s, work{
		kind: infrav1.JobDeleteKubernetesCluster, domain: known.Name, resource: id, doing: "removing the cluster from the Kubernetes service",
		call: func(ctx context.Context, session *cloudstack.Session) (string, cloudstack.Job, error) {
			job, err := session.DeleteKubernetesCluster(ctx, id)
			return id, job, err
		},
	})
}

// entryJobFailed deals with a job about the entry that failed. done means that nothing else is to be done about it.
func (r *Reconciler) entryJobFailed(ctx context.Context, s *scope, j infrav1.JobReference, outcome cloudstack.Outcome) (done bool, err error) {
	if j.Kind == infrav1.JobCreateKubernetesCluster {
		s.c.Status.KubernetesClusterID = ""
		if !s.deleting() && outcome.Err != nil {
			s.serviceFailure = apiFailure("showing the cluster in the Kubernetes service", outcome.Err)
		}
		return true, nil
	}
	gone, err := r.entryGone(ctx, s, j)
	return gone || !s.deleting(), err
}

// entryGone tells whether the entry that a job was to delete is gone, although the job failed: a second deletion reads like any
// failure.
func (r *Reconciler) entryGone(ctx context.Context, s *scope, j infrav1.JobReference) (bool, error) {
	session, known := s.sessions[j.FailureDomain], s.c.Status.Domain(j.FailureDomain)
	if session == nil || known == nil {
		return true, nil
	}
	_, err := session.FindKubernetesCluster(ctx, ownerOf(known.Owner), j.ResourceID)
	switch {
	case cloudstack.Is(err, cloudstack.NotFound):
		s.drop(j)
		return true, nil
	case err != nil:
		s.keep(j)
		return false, apiFailure("looking for the entry in the Kubernetes service", err)
	}
	return false, nil
}
