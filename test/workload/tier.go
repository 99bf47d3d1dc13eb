package workload

import (
	"context"
	"crypto/x509/pkix"
	"errors"
	"net"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Tier is a way to run control planes.
type Tier interface {
	// begin makes a cluster with the machine as its first member.
	begin(ctx context.Context, m *member) (plane, error)
	// Close ends what the tier has running for itself. The planes have been closed before.
	Close() error
}

// errRemoved says that a machine is no member of etcd any more: its static pods end as soon as they start.
var errRemoved = errors.New("etcd: the member has been permanently removed from the cluster")

// plane is the control plane of one cluster: what the members run together.
type plane interface {
	// join adds a member to etcd, and serves the API on it.
	join(ctx context.Context, m *member) error
	// resume serves on a member whose machine has started again with its disk, or whose processes have ended. It fails with errRemoved
	// when the member was removed from etcd.
	resume(ctx context.Context, m *member) error
	// forget drops a member whose disk is gone.
	forget(name string)
	// tend does what members do by themselves: they elect a leader, and end once they are removed. It reports whether the API answers.
	tend(ctx context.Context) (answers bool)
	// store reads and writes the objects of the cluster.
	store() store
	close()
}

// store is the API of a cluster, for what kubelets and controllers inside it do.
type store interface {
	Get(ctx context.Context, key client.ObjectKey, obj client.Object) error
	List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error
	// Create writes an object with its status.
	Create(ctx context.Context, obj client.Object) error
	// Update writes an object with its status.
	Update(ctx context.Context, obj client.Object) error
	Delete(ctx context.Context, obj client.Object) error
}

// member is a control-plane machine.
type member struct {
	guest   *guest
	name    string // of its Node
	pki     pki
	version string // of the API server, as v1.34.2
	port    int
	// endpoint is host:port of the API of the cluster.
	endpoint string
	names    []string // more that the API is served as
	services string   // CIDR
	// etcd is what the etcd of this machine is known by; filled by the plane.
	etcd map[string]string
}

// hosts are what the certificate of the API server is for.
func (m *member) hosts() []string {
	host, _, _ := net.SplitHostPort(m.endpoint)
	hosts := []string{"kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local", "localhost", "127.0.0.1", "10.96.0.1", m.name, host}
	if a := m.guest.address(); a.IsValid() {
		hosts = append(hosts, a.String())
	}
	return append(hosts, m.names...)
}

func apiServerName() pkix.Name { return pkix.Name{CommonName: "kube-apiserver"} }

func etcdName(node string) pkix.Name { return pkix.Name{CommonName: etcdPod(node)} }

// staticPods are the components that kubeadm runs on a control-plane machine.
func staticPods() []string {
	return []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"}
}

func etcdPod(node string) string { return "etcd-" + node }

// ready makes the condition that says whether a pod works.
func ready(pod *corev1.Pod, now corev1.ConditionStatus) bool {
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == corev1.PodReady {
			changed := c.Status != now
			c.Status = now
			return changed
		}
	}
	pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: corev1.PodReady, Status: now})
	return true
}
