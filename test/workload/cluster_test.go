package workload_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/capcat/capcat/test/workload"
)

// TestCluster follows a cluster from its first machine to its last, over the wire alone.
func TestCluster(t *testing.T) {
	t.Parallel()
	s := newSite(t, workload.Options{})
	at := s.ip + ":6443"
	s.allowEgress()
	lb := s.balance()
	image := s.template("node-kube-v1.34.2")
	p := newPlan(t, at, "v1.34.2")
	admin := p.ca.admin(t, at)

	first := s.deploy("cp-1", image, compress(t, p.init()))
	s.says("cp-1", "not yet")
	if got := nodes(t, admin)["error"]; got == "" {
		t.Error("the API answers without a member of the load balancer")
	}
	s.job("assignToLoadBalancerRule", "id", lb, "virtualmachineids", first)
	s.says("cp-1", "This node has joined the cluster")
	addToken(t, admin)
	if ns, err := admin.CoreV1().Namespaces().Get(t.Context(), "kube-system", metav1.GetOptions{}); err != nil || ns.UID == "" {
		t.Fatalf("kube-system is %v, %v: without a UID clusters are taken for each other", ns, err)
	}

	worker := s.deploy("worker-1", image, p.join(false))
	second := s.deploy("cp-2", image, p.join(true))
	s.job("assignToLoadBalancerRule", "id", lb, "virtualmachineids", second)
	s.says("worker-1", "This node has joined the cluster")
	s.says("cp-2", "This node has joined the cluster")
	third := s.deploy("cp-3", image, p.join(true))
	s.job("assignToLoadBalancerRule", "id", lb, "virtualmachineids", third)
	s.says("cp-3", "This node has joined the cluster")
	want := map[string]string{}
	for name, id := range map[string]string{"cp-1": first, "cp-2": second, "cp-3": third, "worker-1": worker} {
		want[name] = "v1.34.2 cloudstack:///" + id + " True"
	}
	s.eventually("all nodes are ready", func() bool { return cmp.Equal(want, nodes(t, admin)) })

	s.job("stopVirtualMachine", "id", worker)
	s.eventually("a stopped machine is not ready", func() bool {
		return nodes(t, admin)["worker-1"] == "v1.34.2 cloudstack:///"+worker+" Unknown"
	})
	s.job("startVirtualMachine", "id", worker)
	s.eventually("a started machine is ready", func() bool { return nodes(t, admin)["worker-1"] == want["worker-1"] })
	s.job("destroyVirtualMachine", "id", worker)
	s.eventually("a destroyed machine has no node", func() bool { return nodes(t, admin)["worker-1"] == "" })

	s.job("stopVirtualMachine", "id", first)
	s.eventually("two of three answer", func() bool { return nodes(t, admin)["error"] == "" })
	s.job("stopVirtualMachine", "id", second)
	s.eventually("one of three has no majority", func() bool { return nodes(t, admin)["error"] != "" })
	s.job("startVirtualMachine", "id", first)
	s.eventually("two of three answer again", func() bool { return nodes(t, admin)["error"] == "" && nodes(t, admin)["cp-1"] == want["cp-1"] })
}
