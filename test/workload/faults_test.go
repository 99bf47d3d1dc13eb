package workload_test

import (
	"net"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/capcat/capcat/test/workload"
)

// TestMachinesThatDoNotJoin: each runs for CloudStack, has no Node, and says why on its console.
func TestMachinesThatDoNotJoin(t *testing.T) {
	t.Parallel()
	s := newSite(t, workload.Options{Patience: 2 * tick})
	at := s.ip + ":6443"
	image := s.template("node-kube-v1.34.2")
	good := func() *plan { return newPlan(t, at, "v1.34.2") }
	tests := map[string]struct{ template, userData, says string }{
		"no-egress":         {image, good().init(), "no egress rule lets the packet out"},
		"no-user-data":      {image, "", "there is no user data"},
		"not-cloud-config":  {image, "hello", "neither cloud-config nor a script"},
		"broken-yaml":       {image, "#cloud-config\nruncmd: [", "loading yaml"},
		"broken-gzip":       {image, "\x1f\x8bnonsense", "expanding user data"},
		"newer-template":    {s.template("node-kube-v1.35.0"), good().init(), "the kubelet version is higher than the control plane version"},
		"much-newer":        {s.template("node-kube-v1.36.0"), good().init(), "only supports deploying clusters with the control plane version >= 1.35.0"},
		"no-kubernetes":     {s.template("plain-image"), good().init(), "kubeadm: not found"},
		"no-config":         {image, "#cloud-config\nruncmd: [kubeadm init --config /nowhere]\n", "open /nowhere: no such file or directory"},
		"bad-name":          {image, strings.Replace(good().init(), "{{ ds.meta_data.local_hostname }}", "Not_A_Name", 1), "nodeRegistration.name: Invalid value"},
		"no-such-variable":  {image, strings.Replace(good().init(), "ds.meta_data.local_hostname", "ds.meta_data.fqdn", 1), "could not render jinja template variable"},
		"no-header":         {image, strings.TrimPrefix(good().init(), "## template: jinja\n"), "nodeRegistration.name: Invalid value"},
		"old-configuration": {image, strings.ReplaceAll(good().init(), "v1beta4", "v1beta2"), "uses an old API spec"},
		"nobody-there":      {image, good().join(false), "no egress rule lets the packet out"},
		"stopped-before":    {image, strings.Replace(good().init(), "runcmd:\n", "runcmd:\n  - exit 1\n", 1), "finished"},
	}
	ids := map[string]string{}
	for name, test := range tests {
		ids[name] = s.deploy(name, test.template, test.userData)
	}
	for name, test := range tests {
		s.says(name, test.says)
		if got := s.state(ids[name]); got != "Running" {
			t.Errorf("%s is %s", name, got)
		}
		if strings.Contains(s.console(name), "has joined the cluster") {
			t.Errorf("%s has joined:\n%s", name, s.console(name))
		}
	}
	s.allowEgress()
	s.job("rebootVirtualMachine", "id", ids["no-egress"])
	s.says("no-egress", "this instance has been set up before")
}

// begin brings up the first machine of a cluster and returns its load balancer.
func (s *site) begin(p *plan, template string) (cp, lb string) {
	s.t.Helper()
	s.allowEgress()
	lb = s.balance()
	cp = s.deploy("cp", template, p.init())
	s.job("assignToLoadBalancerRule", "id", lb, "virtualmachineids", cp)
	s.says("cp", "This node has joined the cluster")
	return cp, lb
}

func TestJoinNeedsTokenAndCA(t *testing.T) {
	t.Parallel()
	s := newSite(t, workload.Options{Patience: 4 * tick})
	image := s.template("node-kube-v1.34.2")
	p := newPlan(t, s.ip+":6443", "v1.34.2")
	s.begin(p, image)
	s.deploy("no-token", image, p.join(false))
	s.says("no-token", "kubeadm join: error")
	s.says("no-token", "the token is not known or has expired")
	admin := p.ca.admin(t, p.endpoint)
	addToken(t, admin)
	other := newPlan(t, p.endpoint, p.version)
	s.deploy("other-ca", image, other.join(false))
	s.says("other-ca", "none of the public keys")
	mixed := *p
	mixed.more = map[string]string{}
	s.deploy("no-keys", image, strings.Replace(mixed.join(true), "/etc/kubernetes/pki/ca.key", "/etc/kubernetes/pki/no.key", 1))
	s.says("no-keys", "couldn't load the private key file /etc/kubernetes/pki/ca.key")
	s.deploy("elsewhere", image, strings.ReplaceAll(p.join(false), p.endpoint, strings.Replace(p.endpoint, ":6443", ":6444", 1)))
	s.says("elsewhere", "connection refused")
	if got := nodes(t, other.ca.admin(t, p.endpoint))["error"]; got == "" {
		t.Error("the API takes a client of another CA")
	}
	for _, name := range []string{"no-token", "other-ca", "no-keys", "elsewhere"} {
		if got := nodes(t, admin)[name]; got != "" {
			t.Errorf("%s has a node: %s", name, got)
		}
	}
}

// TestKubeletOfTheTemplate: a Node has the version that the template holds, whatever the cluster's is.
func TestKubeletOfTheTemplate(t *testing.T) {
	t.Parallel()
	s := newSite(t, workload.Options{})
	p := newPlan(t, s.ip+":6443", "v1.34.2")
	s.begin(p, s.template("node-kube-v1.34.2"))
	admin := p.ca.admin(t, p.endpoint)
	addToken(t, admin)
	old := s.deploy("old", s.template("node-kube-v1.33.5"), p.join(false))
	s.says("old", "Kubernetes version is greater than kubeadm version")
	s.says("old", "This node has joined the cluster")
	lying := s.template("claims-kube-v1.34.2")
	if err := s.sim.SetKubernetes(lying, "v1.33.1"); err != nil {
		t.Fatal(err)
	}
	liar := s.deploy("liar", lying, p.join(false))
	s.says("liar", "This node has joined the cluster")
	for name, want := range map[string]string{"old": "v1.33.5 cloudstack:///" + old + " True", "liar": "v1.33.1 cloudstack:///" + liar + " True"} {
		s.eventually(name+" is "+want, func() bool { return nodes(t, admin)[name] == want })
	}
}

// TestControlPlaneThatIsLost: data lives on disks. A machine that is started again has it, one that is destroyed does not come back.
func TestControlPlaneThatIsLost(t *testing.T) {
	t.Parallel()
	s := newSite(t, workload.Options{})
	image := s.template("node-kube-v1.34.2")
	p := newPlan(t, s.ip+":6443", "v1.34.2")
	cp, lb := s.begin(p, image)
	admin := p.ca.admin(t, p.endpoint)
	_, err := admin.CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "mine"}, Data: map[string]string{"a": "b"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, verb := range []string{"stop", "start", "reboot"} {
		s.job(verb+"VirtualMachine", "id", cp)
	}
	s.eventually("the data is there again", func() bool {
		m, err := admin.CoreV1().ConfigMaps("default").Get(t.Context(), "mine", metav1.GetOptions{})
		return err == nil && m.Data["a"] == "b"
	})
	s.job("destroyVirtualMachine", "id", cp)
	if got := nodes(t, admin)["error"]; got == "" {
		t.Error("the API answers without a machine")
	}
	next := s.deploy("cp-2", image, p.init())
	s.job("assignToLoadBalancerRule", "id", lb, "virtualmachineids", next)
	s.says("cp-2", "This node has joined the cluster")
	if _, err := admin.CoreV1().ConfigMaps("default").Get(t.Context(), "mine", metav1.GetOptions{}); err == nil {
		t.Error("a new control plane has the data of the old one")
	}
}

// TestVirtualAddress: kube-vip on a shared network claims the address of the API, and another machine takes it over.
func TestVirtualAddress(t *testing.T) {
	t.Parallel()
	s := newSite(t, workload.Options{})
	image := s.template("node-kube-v1.34.2")
	probe := s.guestAddress(s.deploy("probe", image, "", "networkids", s.shared)).As4()
	vip := net.IPv4(probe[0], probe[1], probe[2], 240).String()
	p := newPlan(t, vip+":6443", "v1.34.2")
	p.more["/etc/kubernetes/manifests/kube-vip.yaml"] = "apiVersion: v1\nkind: Pod\nmetadata: {name: kube-vip, namespace: kube-system}\nspec:\n  containers:\n  - name: kube-vip\n" +
		"    image: ghcr.io/kube-vip/kube-vip:v1.0.3\n    env:\n    - {name: address, value: \"" + vip + "\"}\n    - {name: port, value: \"6443\"}\n    - {name: cp_enable, value: \"true\"}\n"
	first := s.deploy("cp-1", image, p.init(), "networkids", s.shared)
	s.says("cp-1", "This node has joined the cluster")
	admin := p.ca.admin(t, p.endpoint)
	s.eventually("the address answers", func() bool { return nodes(t, admin)["error"] == "" })
	addToken(t, admin)
	for _, name := range []string{"cp-2", "cp-3"} {
		s.deploy(name, image, p.join(true), "networkids", s.shared)
		s.says(name, "This node has joined the cluster")
	}
	s.job("destroyVirtualMachine", "id", first)
	s.eventually("another machine has the address", func() bool { return nodes(t, admin)["error"] == "" })
}

// TestStockImage: Kubernetes comes with user data, over the network.
func TestStockImage(t *testing.T) {
	t.Parallel()
	s := newSite(t, workload.Options{})
	image := s.template("ubuntu-24.04")
	p := newPlan(t, s.ip+":6443", "v1.34.2")
	p.more["/usr/local/sbin/install-kubernetes"] = "#!/bin/bash\nset -euo pipefail\nversion=$(echo \"$1\" | tr -d v)\n[ -d /sys ] || { echo no; exit 1; }\n" +
		"packages() { DEBIAN_FRONTEND=noninteractive apt-get -qy \"$@\"; }\npackages update\npackages install \"kubeadm=$version-*\" \"kubelet=$version-*\"\n"
	p.commands = []string{"/usr/local/sbin/install-kubernetes v1.34.2"}
	s.deploy("cut-off", image, p.init())
	s.says("cut-off", "kubeadm: not found")
	cp, _ := s.begin(p, image)
	admin, want := p.ca.admin(t, p.endpoint), "v1.34.2 cloudstack:///"+cp+" True"
	s.eventually("the node is "+want, func() bool { return nodes(t, admin)["cp"] == want })
}
