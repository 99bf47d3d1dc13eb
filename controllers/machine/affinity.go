package machine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/controllers/cloudstack"
	"github.com/capcat/capcat/controllers/internal/ending"
	"github.com/capcat/capcat/controllers/internal/step"
)

func affinityType(a infrav1.Affinity) (cloudstack.AffinityType, bool) {
	types := map[infrav1.Affinity]cloudstack.AffinityType{
		infrav1.AffinityPro: cloudstack.HostAffinity, infrav1.AffinityAnti: cloudstack.HostAntiAffinity,
		infrav1.AffinitySoftPro: cloudstack.SoftHostAffinity, infrav1.AffinitySoftAnti: cloudstack.SoftHostAntiAffinity,
	}
	t, ok := types[a]
	return t, ok
}

// chooseAffinity finds the affinity groups that the spec names, or gives the name of the one that is made for the machine's
// group.
func (s *scope) chooseAffinity(ctx context.Context, res *infrav1.ResolvedMachine) error {
	for _, id := range s.m.Spec.AffinityGroupIDs {
		g, err := s.session.FindAffinityGroup(ctx, s.place.owner, id)
		if err != nil {
			return searchFailure(infrav1.ReasonAffinityGroupNotFound, "finding the affinity group "+id, err)
		}
		res.AffinityGroupIDs = append(res.AffinityGroupIDs, g.ID)
	}
	kind, managed := affinityType(s.m.Spec.Affinity)
	if !managed {
		return nil
	}
	res.AffinityGroupName = s.groupName(kind)
	res.Choices = append(res.Choices, infrav1.Choice{Subject: "affinity", Why: fmt.Sprintf("a group of type %q for %s", kind, groupOf(s.machineLabels()))})
	return nil
}

func (s *scope) machineLabels() map[string]string {
	if s.machine == nil {
		return s.m.Labels
	}
	return s.machine.Labels
}

// groupName is the same for all machines that share hosts or keep apart, and for no others of the account.
func (s *scope) groupName(kind cloudstack.AffinityType) string {
	group := groupOf(s.machineLabels())
	sum := sha256.Sum256([]byte(s.clusterMark() + "\x00" + group + "\x00" + s.place.domain + "\x00" + string(kind)))
	name := fmt.Sprintf("%s-%s", s.clusterName(), group)
	return name[:min(len(name), 120)] + "-" + hex.EncodeToString(sum[:])[:hashLength]
}

func (s *scope) clusterName() string {
	if s.cluster != nil {
		return s.cluster.Name
	}
	return "cluster"
}

// clusterMark identifies the cluster in CloudStack. A cluster that is managed externally has no identity of ours.
func (s *scope) clusterMark() string {
	if s.infra != nil && s.infra.Annotations[infrav1.AnnotationIdentity] != "" {
		return s.infra.Annotations[infrav1.AnnotationIdentity]
	}
	return s.key.Namespace + "/" + s.clusterName()
}

func (s *scope) groupMark() string { return infrav1.MarkCluster + "=" + s.clusterMark() }

// gather makes sure that the affinity group of the machine exists before the VM does.
func (r *Reconciler) gather(ctx context.Context, s *scope) error {
	res := s.m.Status.Resolved
	if res == nil || res.AffinityGroupName == "" || len(res.AffinityGroupIDs) > 0 || s.begun() {
		return nil
	}
	kind, _ := affinityType(s.m.Spec.Affinity)
	g, err := s.session.RecentAffinityGroup(ctx, s.place.owner, res.AffinityGroupName, recent)
	switch {
	case err == nil && (g.Description != s.groupMark() || g.Type != kind):
		return ending.Lacking(infrav1.ReasonResourceAmbiguous, "an affinity group %q (%s) is there and is not that of this cluster: rename or delete it", g.Name, g.ID)
	case err == nil:
		res.AffinityGroupIDs = []string{g.ID}
		return &step.Waiting{Reason: infrav1.ReasonResolving, Message: "the affinity group is found", After: ending.AtOnce}
	case !cloudstack.Is(err, cloudstack.NotFound):
		return apiFailure("looking for the affinity group", err)
	}
	wanted := cloudstack.AffinityGroup{Name: res.AffinityGroupName, Description: s.groupMark(), Type: kind}
	id, _, err := s.session.CreateAffinityGroup(ctx, s.place.owner, wanted)
	switch {
	case cloudstack.Is(err, cloudstack.Conflict):
		return &step.Waiting{Reason: infrav1.ReasonCreating, Message: "another machine makes the affinity group", After: ending.AnswerPoll}
	case cloudstack.Is(err, cloudstack.LostReply):
		return &step.Failed{
			Reason: infrav1.ReasonAPIUnreachable, After: ending.AnswerPoll, Err: err,
			Message: "creating the affinity group: " + err.Error() + "; it is looked for before the next try",
		}
	case err != nil:
		return apiFailure("creating the affinity group", err)
	}
	res.AffinityGroupIDs = []string{id}
	return &step.Waiting{Reason: infrav1.ReasonCreating, Message: "the affinity group is made", After: ending.AtOnce}
}

// disband deletes the affinity group with its last machine.
func (r *Reconciler) disband(ctx context.Context, s *scope) error {
	res := s.m.Status.Resolved
	if s.session == nil || res == nil || res.AffinityGroupName == "" {
		return nil
	}
	var list infrav1.CloudStackMachineList
	if err := r.client.List(ctx, &list, client.InNamespace(s.key.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("listing the machines: %w", err)
	}
	for i := range list.Items {
		other := list.Items[i].Status.Resolved
		if list.Items[i].Name != s.key.Name && other != nil && other.AffinityGroupName == res.AffinityGroupName {
			return nil
		}
	}
	if err := r.awaitDisbanded(s); err != nil {
		return err
	}
	g, err := s.session.AffinityGroupNamed(ctx, s.place.owner, res.AffinityGroupName)
	if cloudstack.Is(err, cloudstack.NotFound) || err == nil && g.Description != s.groupMark() {
		return nil
	}
	if err != nil {
		return apiFailure("looking for the affinity group", err)
	}
	job, err := s.session.DeleteAffinityGroup(ctx, s.place.owner, g.ID)
	if err != nil && !cloudstack.Is(err, cloudstack.NotFound) {
		return apiFailure("deleting the affinity group", err)
	}
	r.memo(s.key, func(m *memo) { m.disbanding = job })
	return &step.Waiting{Reason: infrav1.ReasonDeleting, Message: "CloudStack deletes the affinity group " + g.Name, After: ending.AnswerPoll}
}

// awaitDisbanded tells of a job that failed to delete the affinity group. What else became of it, looking for the group shows.
func (r *Reconciler) awaitDisbanded(s *scope) error {
	var job cloudstack.Job
	r.memo(s.key, func(m *memo) { job, m.disbanding = m.disbanding, "" })
	if job == "" {
		return nil
	}
	outcome := s.session.Follow(job, "deleteAffinityGroup", r.wake(s))
	if outcome.State != cloudstack.JobFailed || cloudstack.Is(outcome.Err, cloudstack.NotFound) {
		return nil
	}
	return &step.Failed{
		Reason: infrav1.ReasonDeletionBlocked, After: statePoll,
		Message: fmt.Sprintf("CloudStack does not delete the affinity group %s: %s; it is tried again", s.m.Status.Resolved.AffinityGroupName, ending.JobText(outcome)),
	}
}
