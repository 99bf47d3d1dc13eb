package workload

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	cloudv1 "sigs.k8s.io/cluster-api/test/infrastructure/inmemory/pkg/cloud/api/v1alpha1"
	inmemory "sigs.k8s.io/cluster-api/test/infrastructure/inmemory/pkg/runtime"
	inmemoryapi "sigs.k8s.io/cluster-api/test/infrastructure/inmemory/pkg/server/api"
	inmemoryetcd "sigs.k8s.io/cluster-api/test/infrastructure/inmemory/pkg/server/etcd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// memoryTier keeps the objects of all clusters in this process.
type memoryTier struct {
	log       logr.Logger
	manager   inmemory.Manager
	deletions deletions

	mu     sync.Mutex // guards all below
	groups int
}

func newMemoryTier(ctx context.Context, log logr.Logger) (*memoryTier, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, appsv1.AddToScheme, rbacv1.AddToScheme, storagev1.AddToScheme, policyv1.AddToScheme,
		apiextensionsv1.AddToScheme, cloudv1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("building the scheme of workload clusters: %w", err)
		}
	}
	t := &memoryTier{log: log, manager: inmemory.NewManager(scheme), deletions: deletions{last: map[string]map[schema.GroupResource]uint64{}}}
	if err := t.manager.Start(ctrl.LoggerInto(ctx, logr.Discard())); err != nil {
		return nil, fmt.Errorf("starting the memory of workload clusters: %w", err)
	}
	if err := t.deletions.listen(ctx, t.manager); err != nil {
		return nil, err
	}
	return t, nil
}

// Close implements Tier.
func (t *memoryTier) Close() error { return nil }

// memoryPlane is a control plane whose etcd is a part of this process.
type memoryPlane struct {
	tier  *memoryTier
	group string
	api   http.Handler
	etcd  http.Handler

	mu      sync.Mutex // guards all below
	members map[string]*member
	answers bool
}

func (t *memoryTier) begin(ctx context.Context, m *member) (plane, error) {
	t.mu.Lock()
	t.groups++
	p := &memoryPlane{tier: t, group: "cluster-" + strconv.Itoa(t.groups), members: map[string]*member{}, answers: true}
	t.mu.Unlock()
	t.manager.AddResourceGroup(p.group)
	resolve := func(string) (string, error) { return p.group, nil }
	p.api, p.etcd = inmemoryapi.NewAPIServerHandler(t.manager, t.log, resolve), inmemoryetcd.NewEtcdServerHandler(t.manager, t.log, resolve)
	if err := p.join(ctx, m); err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

func (p *memoryPlane) store() store { return p.client() }

func (p *memoryPlane) client() memoryStore {
	return memoryStore{p.tier.manager.GetResourceGroup(p.group).GetClient(), p.tier.manager.GetScheme()}
}

// join implements plane: the pod of a member stands for it in the make-believe etcd, so it is the first thing that is there.
func (p *memoryPlane) join(ctx context.Context, m *member) error {
	pods, err := p.etcdPods(ctx)
	if err != nil {
		return err
	}
	m.etcd = map[string]string{cloudv1.EtcdMemberIDAnnotationName: memberID(), cloudv1.EtcdClusterIDAnnotationName: memberID()}
	first := true
	for _, pod := range pods {
		if pod.Name == etcdPod(m.name) {
			if isMember(&pod) {
				return fmt.Errorf("etcd has a member %q already", m.name)
			}
			if err := p.client().Delete(ctx, &pod); err != nil {
				return fmt.Errorf("replacing pod %q: %w", pod.Name, err)
			}
			continue
		}
		first = false
		m.etcd[cloudv1.EtcdClusterIDAnnotationName] = pod.Annotations[cloudv1.EtcdClusterIDAnnotationName]
	}
	if first {
		m.etcd[cloudv1.EtcdLeaderFromAnnotationName] = time.Now().Format(time.RFC3339)
	}
	if err := p.client().Create(ctx, (&kubelet{guest: m.guest, node: m.name, member: m}).staticPod("etcd")); err != nil {
		return fmt.Errorf("adding an etcd member: %w", err)
	}
	return p.resume(ctx, m)
}

// memberID is a number as etcd has them. The make-believe etcd reads it into an int.
func memberID() string { return strconv.FormatUint(uint64(rand.Uint32())|1, 10) }

// resume implements plane. The ports of the machine close with its power.
func (p *memoryPlane) resume(ctx context.Context, m *member) error {
	if m.guest.hasPort(m.port) {
		return nil
	}
	pod := &corev1.Pod{}
	if err := p.client().Get(ctx, client.ObjectKey{Namespace: metav1.NamespaceSystem, Name: etcdPod(m.name)}, pod); err != nil || !isMember(pod) {
		return errRemoved
	}
	p.mu.Lock()
	p.members[m.name] = m
	p.mu.Unlock()
	return p.serve(ctx, m)
}

// forget implements plane.
func (p *memoryPlane) forget(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.members, name)
}

func (p *memoryPlane) close() {
	p.mu.Lock()
	members := p.members
	p.members = map[string]*member{}
	p.mu.Unlock()
	for _, m := range members {
		m.guest.unserve()
	}
	p.tier.manager.DeleteResourceGroup(p.group)
	p.tier.deletions.forget(p.group)
}

func (p *memoryPlane) member(name string) *member {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.members[name]
}

func (p *memoryPlane) etcdPods(ctx context.Context) ([]corev1.Pod, error) {
	pods := &corev1.PodList{}
	err := p.client().List(ctx, pods, client.InNamespace(metav1.NamespaceSystem), client.MatchingLabels{"component": "etcd", "tier": "control-plane"})
	if err != nil {
		return nil, fmt.Errorf("listing the members of etcd: %w", err)
	}
	return pods.Items, nil
}

// isMember says whether a pod stands for a member of the make-believe etcd that has not been removed.
func isMember(p *corev1.Pod) bool {
	_, member := p.Annotations[cloudv1.EtcdMemberIDAnnotationName]
	_, removed := p.Annotations[cloudv1.EtcdMemberRemoved]
	return member && !removed
}

// works says whether a member's machine has power.
func (p *memoryPlane) works(pod *corev1.Pod) bool {
	m := p.member(pod.Spec.NodeName)
	return m != nil && m.guest.on()
}

// tend implements plane: without a majority of members nothing answers; a leader that is gone is replaced; a member that was removed ends.
func (p *memoryPlane) tend(ctx context.Context) bool {
	pods, err := p.etcdPods(ctx)
	if err != nil {
		return false
	}
	members, works := 0, 0
	for i := range pods {
		switch {
		case !isMember(&pods[i]):
			if m := p.member(pods[i].Spec.NodeName); m != nil && m.etcd[cloudv1.EtcdMemberIDAnnotationName] == pods[i].Annotations[cloudv1.EtcdMemberIDAnnotationName] {
				m.guest.unserve()
				p.forget(m.name)
			}
			continue
		case p.works(&pods[i]):
			works++
		}
		members++
	}
	answers := members > 0 && 2*works > members
	p.mu.Lock()
	p.answers = answers
	p.mu.Unlock()
	if answers {
		if err := p.elect(ctx, pods); err != nil {
			p.tier.log.V(1).Info("No leader could be elected", "cluster", p.group, "reason", err.Error())
		}
	}
	return answers
}

// elect makes a member the leader when the leader is gone: the last of those that have been.
func (p *memoryPlane) elect(ctx context.Context, pods []corev1.Pod) error {
	var leader, next *corev1.Pod
	var since time.Time
	for i := range pods {
		pod := &pods[i]
		if !isMember(pod) {
			continue
		}
		if t, err := time.Parse(time.RFC3339, pod.Annotations[cloudv1.EtcdLeaderFromAnnotationName]); err == nil && !t.Before(since) {
			leader, since = pod, t
		}
		if next == nil && p.works(pod) {
			next = pod
		}
	}
	switch {
	case leader != nil && p.works(leader):
		return nil
	case next == nil:
		return errors.New("no member has power")
	}
	return change(ctx, p.client(), next, func(pod *corev1.Pod) bool {
		pod.Annotations[cloudv1.EtcdLeaderFromAnnotationName] = time.Now().Add(time.Second).Format(time.RFC3339)
		return true
	})
}

// quorum says whether a majority of members had power when somebody last looked.
func (p *memoryPlane) quorum() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.answers
}
