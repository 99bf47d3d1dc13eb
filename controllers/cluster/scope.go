package cluster

import (
	"net/netip"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/annotations"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/controllers/cloudstack"
	"github.com/capcat/capcat/controllers/internal/kube"
)

// scope is what one reconcile knows.
type scope struct {
	key types.NamespacedName
	// c is changed by the phases; before is how it was read.
	c, before *infrav1.CloudStackCluster
	saver     *kube.Saver[*infrav1.CloudStackCluster]
	now       time.Time

	// cluster is the owner; nil while there is none.
	cluster *clusterv1.Cluster
	// sessions are by the name of the failure domain; set by connect.
	sessions map[string]*cloudstack.Session
	// sights are what the watch saw, by failure domain; set by look for a provisioned cluster.
	sights map[string]sight

	// connected, networked and reached are set when credentials, networks and endpoint are found in order.
	connected, networked, reached bool
	// setBack is the first failure that did not stop the work on other things.
	setBack error
	// repaired says what was found changed or lost and is being put right.
	repaired string
	// retired are the failure domains whose things are to go while the cluster stays; set by retire.
	retired []string
	// remark is what a person may want to know of a cluster that is ready, and again when it is looked at again.
	remark string
	again  time.Duration
	// service is how the cluster stands in CloudStack's own Kubernetes service; set by synchronise.
	service service
	// serviceFailure is why the entry there could not be made.
	serviceFailure error
	// adopting says of which kind a call in a failure domain was that got no answer, so that what it may have made is ours.
	adopting map[string]infrav1.JobKind
	// failure is why the job that took the public address failed, and failedJob that job.
	failure   error
	failedJob infrav1.JobReference
	// released is set when the finalizer is gone.
	released bool
}

func newScope(c client.Client, infra *infrav1.CloudStackCluster, now time.Time) *scope {
	return &scope{
		key: client.ObjectKeyFromObject(infra), c: infra, before: infra.DeepCopy(), now: now,
		saver:    kube.NewSaver(c, infra, func(c *infrav1.CloudStackCluster) any { return &c.Status }),
		sessions: map[string]*cloudstack.Session{}, sights: map[string]sight{}, adopting: map[string]infrav1.JobKind{},
	}
}

func (s *scope) deleting() bool { return !s.c.DeletionTimestamp.IsZero() }

func (s *scope) paused() bool {
	if s.cluster == nil {
		return annotations.HasPaused(s.c)
	}
	return annotations.IsPaused(s.cluster, s.c)
}

func (s *scope) provisioned() bool { return isTrue(s.c.Status.Initialization.Provisioned) }

func isTrue(b *bool) bool { return b != nil && *b }

// identity is the owner mark of the cluster; empty before it was written.
func (s *scope) identity() string { return s.c.Annotations[infrav1.AnnotationIdentity] }

// mark is the owner mark in texts that go with a call.
func (s *scope) mark() string { return infrav1.MarkOwner + "=" + s.identity() }

// longestText is what CloudStack takes as display text or description.
const longestText = 255

// markText is a text for people that begins with the owner mark.
func (s *scope) markText() string {
	text := s.mark() + " " + s.key.String()
	return strings.ToValidUTF8(text[:min(len(text), longestText)], "")
}

// tags are what everything that was made for the cluster carries, where it can.
func (s *scope) tags() map[string]string {
	return map[string]string{infrav1.MarkOwner: s.identity(), infrav1.MarkName: s.key.String()}
}

// clusterName is that of the Cluster, which people know.
func (s *scope) clusterName() string {
	if s.cluster != nil {
		return s.cluster.Name
	}
	if name := s.c.Labels[clusterv1.ClusterNameLabel]; name != "" {
		return name
	}
	for _, ref := range s.c.OwnerReferences {
		if ref.Kind == "Cluster" {
			return ref.Name
		}
	}
	return s.c.Name
}

// oursByText tells whether a text begins with the mark of this cluster.
func (s *scope) oursByText(text string) bool {
	return s.identity() != "" && (text == s.mark() || strings.HasPrefix(text, s.mark()+" "))
}

// oursByTag tells whether tags hold the mark of this cluster.
func (s *scope) oursByTag(tags map[string]string) bool {
	return s.identity() != "" && tags[infrav1.MarkOwner] == s.identity()
}

// foreign tells whether tags hold the mark of another cluster.
func (s *scope) foreign(tags map[string]string) bool {
	owner := tags[infrav1.MarkOwner]
	return owner != "" && owner != s.identity()
}

// askedIP is the public address that the cluster must have; empty takes any.
func (s *scope) askedIP() string {
	if lb := s.c.Status.LoadBalancer; lb != nil && lb.PublicIP != "" {
		return lb.PublicIP
	}
	if s.c.Spec.ControlPlaneEndpointIP != "" {
		return s.c.Spec.ControlPlaneEndpointIP
	}
	if ip, err := netip.ParseAddr(s.c.Spec.ControlPlaneEndpoint.Host); err == nil {
		return ip.String()
	}
	return ""
}

func ownerOf(o infrav1.ResolvedOwner) cloudstack.Owner {
	return cloudstack.Owner{ProjectID: o.ProjectID, DomainID: o.DomainID, Account: o.Account}
}

// setBackBy keeps a failure for the end and lets the work on other things go on.
func (s *scope) setBackBy(err error) {
	if s.setBack == nil {
		s.setBack = err
	}
}
