package cluster

import (
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
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
		// Adding to the finalizers that are there by now: the Keeper may just have labelled the Secret.
		if err := r.client.Patch(ctx, secret, client.StrategicMergeFrom(base)); err != nil {
			return fmt.Errorf("protecting the Secret %s: %w", name, err)
		}
	}
	return nil
}

// Keeper looks after the Secrets that hold identities: clusterctl move takes along those that something of ours needs, and the
// protection comes off those that no cluster needs any more.
type Keeper struct{ client client.Client }

// NewKeeper makes a Keeper.
func NewKeeper(c client.Client) *Keeper { return &Keeper{client: c} }

// Reconcile looks at one Secret.
func (k *Keeper) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	secret, err := readSecret(ctx, k.client, req.NamespacedName)
	if err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	used, err := k.uses(ctx, req.NamespacedName)
	if err != nil {
		return ctrl.Result{}, err
	}
	base := secret.DeepCopy()
	if !used.byCluster {
		controllerutil.RemoveFinalizer(secret, infrav1.FinalizerIdentity)
	}
	labelForMove(secret, used.byCluster || used.byImage)
	if equality.Semantic.DeepEqual(base, secret) {
		return ctrl.Result{}, nil
	}
	if err := k.client.Patch(ctx, secret, client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{})); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(fmt.Errorf("marking the Secret %s: %w", req.Name, err))
	}
	return ctrl.Result{}, nil
}

// labelForMove has clusterctl move take a Secret along, or no longer. What a person has put there stays.
func labelForMove(secret *metav1.PartialObjectMetadata, moves bool) {
	value, labelled := secret.Labels[infrav1.LabelMove]
	switch {
	case moves && !labelled && secret.DeletionTimestamp.IsZero():
		metav1.SetMetaDataLabel(&secret.ObjectMeta, infrav1.LabelMove, infrav1.MoveByIdentity)
	case !moves && value == infrav1.MoveByIdentity:
		delete(secret.Labels, infrav1.LabelMove)
	}
}

// uses tells what a Secret is needed for.
type uses struct{ byCluster, byImage bool }

// uses looks for what refers to a Secret. A pause changes nothing: paused clusters are moved too.
func (k *Keeper) uses(ctx context.Context, secret client.ObjectKey) (uses, error) {
	var clusters infrav1.CloudStackClusterList
	var catalogs infrav1.TemplateCatalogList
	var images infrav1.CloudStackImageList
	for _, list := range []client.ObjectList{&clusters, &catalogs, &images} {
		// Every Secret of the namespace comes by, and most are nobody's: what is only looked at is not copied for each.
		if err := k.client.List(ctx, list, client.InNamespace(secret.Namespace), client.UnsafeDisableDeepCopy); err != nil {
			return uses{}, fmt.Errorf("listing what may need the Secret %s: %w", secret.Name, err)
		}
	}
	return uses{
		byCluster: slices.ContainsFunc(clusters.Items, func(c infrav1.CloudStackCluster) bool { return needs(&c, secret.Name) }),
		byImage: slices.ContainsFunc(catalogs.Items, func(c infrav1.TemplateCatalog) bool { return c.Spec.IdentityRef.Name == secret.Name }) ||
			slices.ContainsFunc(images.Items, func(i infrav1.CloudStackImage) bool { return i.Spec.IdentityRef.Name == secret.Name }),
	}, nil
}
