package management

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// state is how a Deployment is.
type state struct {
	replicas, ready int32
	message         string
	after           time.Duration // when to look again; 0: an event wakes us
}

// report writes the status that the controller of Deployments would write.
func (k *kubelet) report(ctx context.Context, d *appsv1.Deployment, now state) error {
	available := appsv1.DeploymentCondition{Type: appsv1.DeploymentAvailable, Status: corev1.ConditionFalse, Reason: "MinimumReplicasUnavailable", Message: now.message}
	progressing := appsv1.DeploymentCondition{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: "ReplicaSetUpdated", Message: now.message}
	if now.ready == now.replicas {
		available.Status, available.Reason, available.Message = corev1.ConditionTrue, "MinimumReplicasAvailable", "Deployment has minimum availability."
		progressing.Reason, progressing.Message = "NewReplicaSetAvailable", "The process runs."
	}
	status := appsv1.DeploymentStatus{
		ObservedGeneration: d.Generation, Replicas: now.replicas, UpdatedReplicas: now.replicas, ReadyReplicas: now.ready,
		AvailableReplicas: now.ready, UnavailableReplicas: now.replicas - now.ready,
		Conditions: []appsv1.DeploymentCondition{since(available, d), since(progressing, d)},
	}
	if equality.Semantic.DeepEqual(status, d.Status) {
		return nil
	}
	before := d.DeepCopy()
	d.Status = status
	if err := k.client.Status().Patch(ctx, d, client.MergeFrom(before)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("writing the status of %s: %w", d.Name, err)
	}
	return nil
}

// since takes the times of a condition that has not changed from what was there before.
func since(c appsv1.DeploymentCondition, d *appsv1.Deployment) appsv1.DeploymentCondition {
	c.LastUpdateTime, c.LastTransitionTime = metav1.Now(), metav1.Now()
	for _, had := range d.Status.Conditions {
		if had.Type != c.Type {
			continue
		}
		if had.Status == c.Status {
			c.LastTransitionTime = had.LastTransitionTime
		}
		if had.Status == c.Status && had.Reason == c.Reason && had.Message == c.Message {
			c.LastUpdateTime = had.LastUpdateTime
		}
	}
	return c
}
