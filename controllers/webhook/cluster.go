package webhook

import (
	"context"
	"fmt"
	"net"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
)

// +kubebuilder:webhook:path=/validate-infrastructure-cluster-x-k8s-io-v1beta2-cloudstackcluster,mutating=false,failurePolicy=fail,sideEffects=None,groups=infrastructure.cluster.x-k8s.io,resources=cloudstackclusters,verbs=create;update,versions=v1beta2,name=validation.cloudstackcluster.infrastructure.cluster.x-k8s.io,admissionReviewVersions=v1,matchPolicy=Equivalent

// Cluster validates clusters: that they take credentials from their own namespace, and that networks are possible.
type Cluster struct{}

// ValidateCreate refuses a cluster that could never be built.
func (w *Cluster) ValidateCreate(_ context.Context, c *infrav1.CloudStackCluster) (admission.Warnings, error) {
	return nil, invalid("CloudStackCluster", c, checkCluster(c))
}

// ValidateUpdate refuses to make a cluster one that could never be built. What does not change the spec passes, and so
// does every change of what is being deleted.
func (w *Cluster) ValidateUpdate(_ context.Context, old, c *infrav1.CloudStackCluster) (admission.Warnings, error) {
	if !c.DeletionTimestamp.IsZero() || equality.Semantic.DeepEqual(old.Spec, c.Spec) {
		return nil, nil
	}
	return nil, invalid("CloudStackCluster", c, checkCluster(c))
}

// ValidateDelete lets every cluster go.
func (w *Cluster) ValidateDelete(context.Context, *infrav1.CloudStackCluster) (admission.Warnings, error) {
	return nil, nil
}

func checkCluster(c *infrav1.CloudStackCluster) field.ErrorList {
	var errs field.ErrorList
	spec := field.NewPath("spec")
	if c.Spec.Network != nil {
		errs = append(errs, checkNetwork(c.Spec.Network, spec.Child("network"))...)
	}
	for i := range c.Spec.FailureDomains {
		d, at := &c.Spec.FailureDomains[i], spec.Child("failureDomains").Index(i)
		if d.ACSEndpoint.Foreign(c.Namespace) {
			errs = append(errs, field.Invalid(at.Child("acsEndpoint", "namespace"), d.ACSEndpoint.Namespace,
				fmt.Sprintf("credentials are taken from the namespace of the cluster only: put the Secret into %q", c.Namespace)))
		}
		errs = append(errs, checkNetwork(&d.Zone.Network, at.Child("zone", "network"))...)
	}
	return errs
}

// checkNetwork does the arithmetic of addresses. What is no address at all is refused by the schema.
func checkNetwork(n *infrav1.Network, at *field.Path) field.ErrorList {
	gateway, mask := net.ParseIP(n.Gateway).To4(), net.IPMask(net.ParseIP(n.Netmask).To4())
	if gateway == nil || mask == nil {
		return nil
	}
	ones, bits := mask.Size()
	if bits == 0 || ones < 1 || ones > 30 {
		return field.ErrorList{field.Invalid(at.Child("netmask"), n.Netmask, "not a netmask with room for machines, such as 255.255.255.0")}
	}
	guests := &net.IPNet{IP: gateway.Mask(mask), Mask: mask}
	if gateway.Equal(guests.IP) || gateway.Equal(lastOf(guests)) {
		return field.ErrorList{field.Invalid(at.Child("gateway"), n.Gateway, "the first and the last address of a network cannot be its gateway")}
	}
	if n.VPC == nil || n.VPC.CIDR == "" {
		return nil
	}
	_, whole, err := net.ParseCIDR(n.VPC.CIDR)
	if err != nil {
		return nil
	}
	if size, _ := whole.Mask.Size(); size > ones || !whole.Contains(guests.IP) {
		return field.ErrorList{field.Invalid(at.Child("gateway"), n.Gateway, fmt.Sprintf("the network %s is not within the VPC's %s", guests, whole))}
	}
	return nil
}

func lastOf(n *net.IPNet) net.IP {
	last := make(net.IP, len(n.IP))
	for i := range n.IP {
		last[i] = n.IP[i] | ^n.Mask[i]
	}
	return last
}
