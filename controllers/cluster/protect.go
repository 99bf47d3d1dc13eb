package cluster

import (
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
)

// secretsOf names the Secrets that a cluster needs: those of its spec, and those that what was made is reached with.
func secretsOf(c *infrav1.CloudStackCluster) []string {
	names := map[string]bool{c.Spec.IdentityRef.Name: true}
	for i := range c.Spec.FailureDomains {
		if d := &c.Spec.FailureDomains[i]; !d.ACSEndpoint.Foreign(c.Namespace) {
			names[d.ACSEndpoint.Name] = true
		}
	}
	for i := range c.Status.Resolved {
		names[c.Status.Resolved[i].IdentityRef.Name] = true
	}
	delete(names, "")
	return slices.Sorted(maps.Keys(names))
}

// needs tells whether a cluster needs a Secret: without its finalizer a cluster that is being deleted needs none.
func needs(c *infrav1.CloudStackCluster, secret string) bool {
	if !c.DeletionTimestamp.IsZero() && !controllerutil.ContainsFinalizer(c, infrav1.FinalizerCluster) {
		return false
	}
	return slices.Contains(secretsOf(c), secret)
}

func readSecret(ctx context.Context, c client.Client, key client.ObjectKey) (*metav1.PartialObjectMetadata, error) {
	secret := &metav1.PartialObjectMetadata{}
	secret.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	if err := c.Get(ctx, key, secret); err != nil {
		return nil, fmt.Errorf("reading the metadata of the Secret %s: %w", key.Name, err)
	}
	return secret, nil
}

// protect keeps the Secrets of the cluster from going away before it does.
func (r *Reconciler) protect(ctx context.Context, s *scope) error {
	for _, name := range secretsOf(s.c) {
		secret, err := readSecret(ctx, r.client, client.ObjectKey{Namespace: s.key.Namespace, Name: name})
		if err != nil {
			if client.IgnoreNotFound(err) == nil {
				continue // of a failure domain that is no longer wanted
			}
			return err
		}
		if !secret.DeletionTimestamp.IsZero() || controllerutil.ContainsFinalizer(secret, infrav1.FinalizerIdentity) {
			continue
		}
		base := secret.DeepCopy()
		controllerutil.AddFinalizer(secret, infrav1.FinalizerIdentity)
		if err := r.client.Patch(ctx, secret, client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{})); err != nil {
			return fmt.Errorf("protecting the Secret %s: %w", name, err)
		}
	}
	return nil
}

// Keeper takes the protection off Secrets that no cluster needs any more.
type Keeper struct{ client client.Client }

// NewKeeper makes a Keeper.
func NewKeeper(c client.Client) *Keeper { return &Keeper{client: c} }

// Reconcile looks at one Secret.
func (k *Keeper) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	secret, err := readSecret(ctx, k.client, req.NamespacedName)
	if err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !controllerutil.ContainsFinalizer(secret, infrav1.FinalizerIdentity) {
		return ctrl.Result{}, nil
	}
	var clusters infrav1.CloudStackClusterList
	if err := k.client.List(ctx, &clusters, client.InNamespace(req.Namespace)); err != nil {
		return ctrl.Result{}, fmt.Errorf("listing the clusters: %w", err)
	}
	for i := range clusters.Items {
		if needs(&clusters.Items[i], req.Name) {
			return ctrl.Result{}, nil
		}
	}
	base := secret.DeepCopy()
	controllerutil.RemoveFinalizer(secret, infrav1.FinalizerIdentity)
	if err := k.client.Patch(ctx, secret, client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{})); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(fmt.Errorf("releasing the Secret %s: %w", req.Name, err))
	}
	return ctrl.Result{}, nil
}
