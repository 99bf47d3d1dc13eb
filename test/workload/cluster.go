package workload

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// cluster is a workload cluster.
type cluster struct {
	world *World
	plane plane
	uid   string // of kube-system
	ca    *authority

	mu       sync.Mutex // guards all below
	kubelets map[string]*kubelet
}

// newCluster makes the namespaces of a cluster whose API server runs, and begins to look after it.
func (w *World) newCluster(ctx context.Context, p plane, m *member) (*cluster, error) {
	c := &cluster{world: w, plane: p, ca: m.pki.ca, kubelets: map[string]*kubelet{}}
	for _, name := range []string{metav1.NamespaceDefault, metav1.NamespaceSystem, metav1.NamespacePublic, corev1.NamespaceNodeLease} {
		// The API servers in memory give no UIDs, and without one clusters could not be told apart. A real one gives its own.
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, UID: uuid.NewUUID()}}
		if err := orExists(p.store().Create(ctx, ns)); err != nil {
			return nil, fmt.Errorf("making namespace %s: %w", name, err)
		}
	}
	system := &corev1.Namespace{}
	if err := p.store().Get(ctx, client.ObjectKey{Name: metav1.NamespaceSystem}, system); err != nil {
		return nil, fmt.Errorf("reading namespace %s: %w", metav1.NamespaceSystem, err)
	}
	c.uid = string(system.UID)
	w.addCluster(c)
	w.wg.Go(func() { c.lookAfter(w.ctx) })
	return c, nil
}

func orExists(err error) error {
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// bootstrap uploads what kubeadm init leaves in a cluster.
func (c *cluster) bootstrap(ctx context.Context, k *kubeadmConfig) error {
	meta := func(namespace, name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: namespace, Name: name}
	}
	version := canonical(k.cluster.KubernetesVersion)
	objects := []client.Object{
		&corev1.ConfigMap{ObjectMeta: meta(metav1.NamespaceSystem, "kubeadm-config"), Data: map[string]string{"ClusterConfiguration": uploaded(k)}},
		&corev1.ConfigMap{ObjectMeta: meta(metav1.NamespaceSystem, "kubelet-config"), Data: map[string]string{"kubelet": "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"}},
		&corev1.ConfigMap{ObjectMeta: meta(metav1.NamespacePublic, "cluster-info"), Data: map[string]string{"kubeconfig": c.publicKubeconfig(k)}},
	}
	skips := func(addon string) bool {
		return slices.Contains(k.init.SkipPhases, "addon") || slices.Contains(k.init.SkipPhases, "addon/"+addon)
	}
	if !skips("kube-proxy") {
		objects = append(objects,
			&corev1.ConfigMap{ObjectMeta: meta(metav1.NamespaceSystem, "kube-proxy"), Data: map[string]string{"config.conf": "apiVersion: kubeproxy.config.k8s.io/v1alpha1\nkind: KubeProxyConfiguration\n"}},
			&appsv1.DaemonSet{ObjectMeta: meta(metav1.NamespaceSystem, "kube-proxy"), Spec: appsv1.DaemonSetSpec{Selector: selector("kube-proxy"), Template: podTemplate("kube-proxy", "registry.k8s.io/kube-proxy:"+version)}})
	}
	if !skips("coredns") {
		objects = append(objects,
			&corev1.ConfigMap{ObjectMeta: meta(metav1.NamespaceSystem, "coredns"), Data: map[string]string{"Corefile": ".:53 {\n    errors\n    health\n    ready\n    kubernetes cluster.local in-addr.arpa ip6.arpa\n    forward . /etc/resolv.conf\n    cache 30\n}\n"}},
			&appsv1.Deployment{ObjectMeta: meta(metav1.NamespaceSystem, "coredns"), Spec: appsv1.DeploymentSpec{Replicas: new(int32(2)), Selector: selector("kube-dns"), Template: podTemplate("kube-dns", "registry.k8s.io/coredns/coredns:v1.12.4")}})
	}
	for _, o := range append(objects, bootstrapRoles()...) {
		if err := orExists(c.plane.store().Create(ctx, o)); err != nil {
			return fmt.Errorf("uploading %s/%s: %w", o.GetNamespace(), o.GetName(), err)
		}
	}
	return nil
}

// uploaded is the configuration as kubeadm keeps it in the cluster, with the version that it chose.
func uploaded(k *kubeadmConfig) string {
	text := k.clusterText
	if text == "" {
		text = "apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\n"
	}
	if !strings.Contains(text, "kubernetesVersion:") {
		text = strings.TrimRight(text, "\n") + "\nkubernetesVersion: " + canonical(k.cluster.KubernetesVersion) + "\n"
	}
	return text
}

// publicKubeconfig is what machines that join read before they know anything.
func (c *cluster) publicKubeconfig(k *kubeadmConfig) string {
	return fmt.Sprintf("apiVersion: v1\nkind: Config\nclusters:\n- name: \"\"\n  cluster:\n    server: https://%s\n    certificate-authority-data: %s\n",
		endpoint(k.cluster.ControlPlaneEndpoint, "kubernetes", apiPort), base64.StdEncoding.EncodeToString(c.ca.pem()))
}

func selector(app string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{"k8s-app": app}}
}

func podTemplate(app, image string) corev1.PodTemplateSpec {
	name := app
	if app == "kube-dns" {
		name = "coredns"
	}
	return corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"k8s-app": app}}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: name, Image: image}}}}
}

// mayJoin refuses the name of a Node that is there and well.
func (c *cluster) mayJoin(ctx context.Context, name string) error {
	n := &corev1.Node{}
	err := c.plane.store().Get(ctx, client.ObjectKey{Name: name}, n)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading node %q: %w", name, err)
	}
	for _, cond := range n.Status.Conditions {
		if cond.Type == corev1.NodeReady && cond.Status == corev1.ConditionTrue {
			return fmt.Errorf("error execution phase kubelet-start: a Node with name %q and status \"Ready\" already exists in the cluster. You must delete the existing Node or change the name of this new joining Node", name)
		}
	}
	return nil
}

// enroll remembers whose kubelet reports for a Node.
func (c *cluster) enroll(k *kubelet) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kubelets[k.node] = k
}

func (c *cluster) kubeletOf(node string) *kubelet {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.kubelets[node]
}

// lost says whether the disks of all members are gone, and the data of the cluster with them.
func (c *cluster) lost() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	members := 0
	for _, k := range c.kubelets {
		if k.member == nil {
			continue
		}
		members++
		if _, expunged := k.guest.gone(); !expunged {
			return false
		}
	}
	return members > 0
}

// lookAfter is what controllers in the cluster do, until the cluster is lost or the world ends.
func (c *cluster) lookAfter(ctx context.Context) {
	defer c.plane.close()
	for pause(ctx, c.world.opts.Beat) {
		if c.lost() {
			c.world.opts.Log.Info("A cluster is lost with its last control-plane machine", "cluster", c.uid)
			c.world.dropCluster(c)
			return
		}
		if !c.plane.tend(ctx) {
			continue
		}
		if err := errors.Join(c.judgeNodes(ctx), c.collectPods(ctx)); err != nil && ctx.Err() == nil {
			c.world.opts.Log.V(1).Info("Looking after a cluster failed", "cluster", c.uid, "reason", err.Error())
		}
	}
}

// judgeNodes writes which Nodes have fallen silent, and removes those whose machine is destroyed.
func (c *cluster) judgeNodes(ctx context.Context) error {
	st := c.plane.store()
	nodes := &corev1.NodeList{}
	if err := st.List(ctx, nodes); err != nil {
		return fmt.Errorf("listing nodes: %w", err)
	}
	var errs []error
	for i := range nodes.Items {
		n := &nodes.Items[i]
		k := c.kubeletOf(n.Name)
		if k == nil {
			continue
		}
		silent := k.guest.silent() > c.world.opts.Grace
		if destroyed, _ := k.guest.gone(); destroyed && silent && !c.world.opts.KeepNodes {
			errs = append(errs, client.IgnoreNotFound(st.Delete(ctx, n)))
			continue
		}
		errs = append(errs, client.IgnoreNotFound(change(ctx, st, n, func(n *corev1.Node) bool { return report(n, silent) })))
	}
	return errors.Join(errs...)
}

// collectPods writes which static pods have fallen silent with their Node, and removes those whose Node is gone. The pod of an etcd member
// stays until the member is removed: it is all that stands for it.
func (c *cluster) collectPods(ctx context.Context) error {
	st := c.plane.store()
	pods := &corev1.PodList{}
	if err := st.List(ctx, pods, client.InNamespace(metav1.NamespaceSystem), client.MatchingLabels{"tier": "control-plane"}); err != nil {
		return fmt.Errorf("listing static pods: %w", err)
	}
	var errs []error
	for i := range pods.Items {
		p := &pods.Items[i]
		err := st.Get(ctx, client.ObjectKey{Name: p.Spec.NodeName}, &corev1.Node{})
		k := c.kubeletOf(p.Spec.NodeName)
		switch {
		case apierrors.IsNotFound(err) && !isMember(p):
			errs = append(errs, client.IgnoreNotFound(st.Delete(ctx, p)))
		case err != nil || k == nil:
		default:
			now := corev1.ConditionTrue
			if k.guest.silent() > c.world.opts.Grace {
				now = corev1.ConditionFalse
			}
			errs = append(errs, client.IgnoreNotFound(change(ctx, st, p, func(p *corev1.Pod) bool { return ready(p, now) })))
		}
	}
	return errors.Join(errs...)
}
