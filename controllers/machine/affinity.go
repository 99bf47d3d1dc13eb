package machine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
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
	kind, managed := affinityType(s.m.Spec.Affinity)
	res := s.m.Status.Resolved
	switch {
	case s.untouched():
		return nil
	case res == nil && managed:
		return r.disbandElsewhere(ctx, s, kind)
	case res == nil || s.session == nil || res.AffinityGroupName == "":
		return nil
	}
	if last, err := r.disbandGroup(ctx, s, res.AffinityGroupName); err != nil || !last || !managed {
		return err
	}
	return r.disbandElsewhere(ctx, s, kind)
}

// disbandElsewhere does the same in the failure domains that the machine left, or that it may have been in when its status is
// lost. One that cannot be asked does not hold up a machine that is known to be in another.
func (r *Reconciler) disbandElsewhere(ctx context.Context, s *scope, kind cloudstack.AffinityType) error {
	own, known := s.place.domain, s.m.Status.Resolved != nil
	for _, domain := range s.searched() {
		if domain == own && known {
			continue
		}
		err := r.placeIn(ctx, s, domain)
		if err == nil {
			_, err = r.disbandGroup(ctx, s, s.groupName(kind))
		}
		switch {
		case known && ending.IsFailure(err):
			ctrl.LoggerFrom(ctx).V(2).Info("Whether an affinity group is left is not known", "failureDomain", domain, "cause", err.Error())
		case err != nil:
			return err
		}
	}
	return nil
}

// disbandGroup deletes the affinity group of that name in the place unless other machines are in it: then the machine is not the last.
func (r *Reconciler) disbandGroup(ctx context.Context, s *scope, name string) (last bool, err error) {
	r.departures.note(s.key, s.m.UID)
	var list infrav1.CloudStackMachineList
	if err := r.client.List(ctx, &list, client.InNamespace(s.key.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return false, fmt.Errorf("listing the machines: %w", err)
	}
	stays := func(m infrav1.CloudStackMachine) bool {
		return m.Name != s.key.Name && s.mayBeIn(&m, name) && !r.departures.include(&m)
	}
	if slices.ContainsFunc(list.Items, stays) {
		return false, nil
	}
	if err := r.awaitDisbanded(s, name); err != nil {
		return true, err
	}
	g, err := s.session.AffinityGroupNamed(ctx, s.place.owner, name)
	if cloudstack.Is(err, cloudstack.NotFound) || err == nil && g.Description != s.groupMark() {
		return true, nil
	}
	if err != nil {
		return true, apiFailure("looking for the affinity group", err)
	}
	job, err := s.session.DeleteAffinityGroup(ctx, s.place.owner, g.ID)
	if err != nil && !cloudstack.Is(err, cloudstack.NotFound) {
		return true, apiFailure("deleting the affinity group", err)
	}
	r.memo(s.key, func(m *memo) { m.disbanding = job })
	return true, &step.Waiting{Reason: infrav1.ReasonDeleting, Message: "CloudStack deletes the affinity group " + g.Name, After: ending.AnswerPoll}
}

// mayBeIn tells whether another machine is in an affinity group. CloudStack deletes groups that have machines, so one that lost
// its status is taken to be in those of its group.
func (s *scope) mayBeIn(other *infrav1.CloudStackMachine, name string) bool {
	if res := other.Status.Resolved; res != nil {
		return res.AffinityGroupName == name
	}
	return other.Annotations[infrav1.AnnotationIdentity] != "" && other.Spec.Affinity == s.m.Spec.Affinity &&
		other.Labels[clusterv1.ClusterNameLabel] == s.clusterName() && groupOf(other.Labels) == groupOf(s.machineLabels())
}

// awaitDisbanded tells of a job that failed to delete the affinity group. What else became of it, looking for the group shows.
func (r *Reconciler) awaitDisbanded(s *scope, name string) error {
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
		Message: fmt.Sprintf("CloudStack does not delete the affinity group %s: %s; it is tried again", name, ending.JobText(outcome)),
	}
}
