package workload

import (
	"context"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	controlPlaneLabel = "node-role.kubernetes.io/control-plane"
	uninitialized     = "node.cloudprovider.kubernetes.io/uninitialized"
	// maxConflicts bounds how often an object is read again because another changed it.
	maxConflicts = 10
	kubeletPort  = 10250
)

// kubelet is what makes a machine a Node. It lies on the machine's disk.
type kubelet struct {
	guest      *guest
	cluster    *cluster
	node       string
	providerID string
	version    string
	labels     map[string]string
	taints     []corev1.Taint
	member     *member // nil for a worker
	endpoint   string
	authority  *authority
}

func newKubelet(g *guest, node string, r nodeRegistration, m *member) *kubelet {
	args := r.KubeletExtraArgs.ofAService()
	k := &kubelet{guest: g, node: node, providerID: args["provider-id"], version: canonical(g.disk.kubernetes), member: m,
		labels: map[string]string{corev1.LabelHostname: node, corev1.LabelOSStable: "linux", corev1.LabelArchStable: "amd64"}}
	for pair := range strings.SplitSeq(args["node-labels"], ",") {
		if name, value, ok := strings.Cut(pair, "="); ok {
			k.labels[strings.TrimSpace(name)] = strings.TrimSpace(value)
		}
	}
	if m != nil {
		k.labels[controlPlaneLabel] = ""
		k.labels["node.kubernetes.io/exclude-from-external-load-balancers"] = ""
	}
	switch {
	case r.Taints != nil:
		k.taints = *r.Taints
	case m != nil:
		k.taints = []corev1.Taint{{Key: controlPlaneLabel, Effect: corev1.TaintEffectNoSchedule}}
	}
	k.taints = append(k.taints, readTaints(args["register-with-taints"])...)
	if args["cloud-provider"] == "external" {
		k.taints = append(k.taints, corev1.Taint{Key: uninitialized, Value: "true", Effect: corev1.TaintEffectNoSchedule})
	}
	return k
}

// readTaints reads key=value:Effect,...
func readTaints(text string) []corev1.Taint {
	var out []corev1.Taint
	for t := range strings.SplitSeq(text, ",") {
		pair, effect, ok := strings.Cut(strings.TrimSpace(t), ":")
		if !ok {
			continue
		}
		key, value, _ := strings.Cut(pair, "=")
		out = append(out, corev1.Taint{Key: key, Value: value, Effect: corev1.TaintEffect(effect)})
	}
	return out
}

// probe asks the API server of the cluster, by its endpoint, whether it is well.
func (k *kubelet) probe(ctx context.Context) error {
	return k.guest.client(k.endpoint, k.authority, "")(ctx, "/readyz", nil)
}

// runKubelet keeps the static pods of the machine running, if it is a part of a control plane, and reports until the power is gone.
func (g *guest) runKubelet(ctx context.Context) {
	k := g.disk.kubelet
	said, registered := "", false
	for ; ; pause(ctx, g.world.opts.Beat) {
		var err error
		if k.member != nil {
			err = k.cluster.plane.resume(ctx, k.member)
		}
		if alive := k.probe(ctx); alive != nil {
			err = errors.Join(err, alive)
		} else if !registered {
			err = errors.Join(err, k.register(ctx))
			registered = err == nil
		} else {
			g.beats()
		}
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			said = ""
		} else if text := err.Error(); text != said {
			g.say("kubelet: will retry: %s", text)
			said = text
		}
	}
}

// register makes the Node, or takes over the one of this name.
func (k *kubelet) register(ctx context.Context) error {
	k.guest.beats()
	st := k.cluster.plane.store()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: k.node, Labels: k.labels}, Spec: corev1.NodeSpec{ProviderID: k.providerID, Taints: k.taints}}
	k.fill(node)
	err := st.Create(ctx, node)
	if apierrors.IsAlreadyExists(err) {
		err = change(ctx, st, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: k.node}}, func(n *corev1.Node) bool {
			k.fill(n)
			return true
		})
	}
	if err != nil {
		return fmt.Errorf("registering node %q: %w", k.node, err)
	}
	k.cluster.enroll(k)
	if k.member == nil {
		return nil
	}
	return k.mirror(ctx)
}

// fill writes what a kubelet reports.
func (k *kubelet) fill(n *corev1.Node) {
	m := k.guest.self()
	n.Status.NodeInfo = corev1.NodeSystemInfo{KubeletVersion: k.version, ContainerRuntimeVersion: "containerd://2.1.4", OperatingSystem: "linux",
		Architecture: "amd64", OSImage: m.Template.Name, KernelVersion: "6.8.0", MachineID: strings.ReplaceAll(m.ID, "-", ""), SystemUUID: m.ID, BootID: m.ID}
	n.Status.Addresses = nil
	if a := k.guest.address(); a.IsValid() {
		n.Status.Addresses = append(n.Status.Addresses, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: a.String()})
	}
	n.Status.Addresses = append(n.Status.Addresses, corev1.NodeAddress{Type: corev1.NodeHostName, Address: k.node})
	n.Status.DaemonEndpoints.KubeletEndpoint.Port = kubeletPort
	n.Status.Capacity = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2"), corev1.ResourceMemory: resource.MustParse("4Gi"), corev1.ResourcePods: resource.MustParse("110")}
	n.Status.Allocatable = n.Status.Capacity
	report(n, false)
}

// report sets the conditions of a Node: those of a kubelet that is well, or those that the control plane writes once it has heard nothing
// for a while. It reports whether anything changed.
func report(n *corev1.Node, silent bool) bool {
	changed := false
	for kind, status := range map[corev1.NodeConditionType]corev1.ConditionStatus{corev1.NodeReady: corev1.ConditionTrue, corev1.NodeMemoryPressure: corev1.ConditionFalse,
		corev1.NodeDiskPressure: corev1.ConditionFalse, corev1.NodePIDPressure: corev1.ConditionFalse} {
		c := corev1.NodeCondition{Type: kind, Status: status, Reason: "KubeletHas" + string(kind), Message: "kubelet is posting ready status"}
		if silent {
			c.Status, c.Reason, c.Message = corev1.ConditionUnknown, "NodeStatusUnknown", "Kubelet stopped posting node status."
		} else if kind == corev1.NodeReady {
			c.Reason = "KubeletReady"
		}
		changed = setCondition(n, c) || changed
	}
	return changed
}

func setCondition(n *corev1.Node, c corev1.NodeCondition) bool {
	c.LastHeartbeatTime, c.LastTransitionTime = metav1.Now(), metav1.Now()
	for i := range n.Status.Conditions {
		have := &n.Status.Conditions[i]
		if have.Type == c.Type {
			if have.Status == c.Status {
				return false
			}
			*have = c
			return true
		}
	}
	n.Status.Conditions = append(n.Status.Conditions, c)
	return true
}

// mirror makes the pods that stand for the static pods of a control-plane machine.
func (k *kubelet) mirror(ctx context.Context) error {
	st := k.cluster.plane.store()
	for _, component := range staticPods() {
		pod := k.staticPod(component)
		err := st.Create(ctx, pod)
		if apierrors.IsAlreadyExists(err) {
			err = change(ctx, st, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}}, func(p *corev1.Pod) bool {
				return ready(p, corev1.ConditionTrue)
			})
		}
		if err != nil {
			return fmt.Errorf("registering pod %q: %w", pod.Name, err)
		}
	}
	return nil
}

func (k *kubelet) staticPod(component string) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: component + "-" + k.node, Labels: map[string]string{"component": component, "tier": "control-plane"},
			Annotations: map[string]string{corev1.MirrorPodAnnotationKey: k.guest.self().ID, "kubernetes.io/config.source": "file"}},
		Spec: corev1.PodSpec{NodeName: k.node, HostNetwork: true, Containers: []corev1.Container{{Name: component, Image: "registry.k8s.io/" + component + ":" + k.member.version}}},
	}
	if component == "etcd" {
		pod.Spec.Containers[0].Image = "registry.k8s.io/etcd:3.6.6-0"
		for name, value := range k.member.etcd {
			pod.Annotations[name] = value
		}
	}
	pod.Status.Phase = corev1.PodRunning
	pod.Status.StartTime = new(metav1.Now())
	ready(pod, corev1.ConditionTrue)
	return pod
}

// change reads an object, changes it and writes it, again while others do too. f reports whether there is anything to write.
func change[T client.Object](ctx context.Context, st store, obj T, f func(T) bool) error {
	var err error
	for range maxConflicts {
		if err = st.Get(ctx, client.ObjectKeyFromObject(obj), obj); err != nil {
			return err
		}
		if !f(obj) {
			return nil
		}
		if err = st.Update(ctx, obj); !apierrors.IsConflict(err) {
			return err
		}
	}
	return err
}
