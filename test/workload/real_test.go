//go:build e2e

package workload_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/go-logr/logr"

	"github.com/capcat/capcat/test/workload"
)

// TestRealControlPlane has a kube-apiserver and an etcd in each control-plane machine.
func TestRealControlPlane(t *testing.T) {
	tier, err := workload.Real(t.Context(), t.TempDir(), logr.Discard(), t.Output())
	if err != nil {
		t.Fatal(err)
	}
	s := newSite(t, workload.Options{Tier: tier, Patience: 60 * tick * 50})
	image := s.template("node-kube-v1.36.3")
	p := newPlan(t, s.ip+":6443", "v1.36.3")
	cp, lb := s.begin(p, image)
	admin := p.ca.admin(t, p.endpoint)
	addToken(t, admin)
	s.checkForward(p)
	mine := applycorev1.ConfigMap("mine", "default").WithData(map[string]string{"a": "b"})
	if _, err := admin.CoreV1().ConfigMaps("default").Apply(t.Context(), mine, metav1.ApplyOptions{FieldManager: "test"}); err != nil {
		t.Errorf("server-side apply: %v", err)
	}
	worker := s.deploy("worker", image, p.join(false))
	s.says("worker", "This node has joined the cluster")
	second := s.deploy("cp-2", image, p.join(true))
	s.job("assignToLoadBalancerRule", "id", lb, "virtualmachineids", second)
	s.says("cp-2", "This node has joined the cluster")
	for name, id := range map[string]string{"cp": cp, "worker": worker, "cp-2": second} {
		want := "v1.36.3 cloudstack:///" + id + " True"
		s.eventually(name+" is "+want, func() bool { return nodes(t, admin)[name] == want })
	}
	s.job("rebootVirtualMachine", "id", cp)
	s.eventually("the data is there after a reboot", func() bool {
		m, err := admin.CoreV1().ConfigMaps("default").Get(t.Context(), "mine", metav1.GetOptions{})
		return err == nil && m.Data["a"] == "b"
	})
	s.job("destroyVirtualMachine", "id", worker)
	s.eventually("a destroyed machine has no node", func() bool { return nodes(t, admin)["worker"] == "" && nodes(t, admin)["error"] == "" })
	pods, err := admin.CoreV1().Pods("kube-system").List(t.Context(), metav1.ListOptions{LabelSelector: "component=etcd"})
	if err != nil || len(pods.Items) != 2 || pods.Items[0].Status.Phase != corev1.PodRunning {
		t.Errorf("pods of etcd: %d %v", len(pods.Items), err)
	}
}
