package workload_test

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"

	"github.com/capcat/capcat/test/workload"
)

// forwarded connects to a port of a static pod through the API, as Cluster API's control plane provider does, and returns who answers there.
func (p *plan) forwarded(pod string, port int) string {
	p.t.Helper()
	config := p.ca.config(p.t, p.endpoint)
	config.Timeout = 0
	set, err := kubernetes.NewForConfig(config)
	if err != nil {
		p.t.Fatal(err)
	}
	tripper, upgrader, err := spdy.RoundTripperFor(config)
	if err != nil {
		p.t.Fatal(err)
	}
	url := set.CoreV1().RESTClient().Post().Resource("pods").Namespace("kube-system").Name(pod).SubResource("portforward").URL()
	ready, stop := make(chan struct{}), make(chan struct{})
	defer close(stop)
	f, err := portforward.New(spdy.NewDialer(upgrader, &http.Client{Transport: tripper}, http.MethodPost, url), []string{fmt.Sprintf("0:%d", port)}, stop, ready, nil, nil)
	if err != nil {
		return err.Error()
	}
	failed := make(chan error, 1)
	go func() { failed <- f.ForwardPorts() }()
	select {
	case err := <-failed:
		return fmt.Sprint(err)
	case <-ready:
	}
	ports, err := f.GetPorts()
	if err != nil {
		return err.Error()
	}
	c, err := tls.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", ports[0].Local), &tls.Config{InsecureSkipVerify: true}) //nolint:gosec // the test looks who answers
	if err != nil {
		return err.Error()
	}
	defer c.Close()
	return c.ConnectionState().PeerCertificates[0].Subject.CommonName
}

func TestPortForward(t *testing.T) {
	t.Parallel()
	s := newSite(t, workload.Options{})
	p := newPlan(t, s.ip+":6443", "v1.34.2")
	s.begin(p, s.template("node-kube-v1.34.2"))
	s.checkForward(p)
}

func (s *site) checkForward(p *plan) {
	s.t.Helper()
	for pod, want := range map[string]string{"etcd-cp:2379": "etcd-cp", "kube-apiserver-cp:6443": "kube-apiserver"} {
		name, port, _ := strings.Cut(pod, ":")
		number := 2379
		if port == "6443" {
			number = 6443
		}
		if got := p.forwarded(name, number); got != want {
			s.t.Errorf("at %s answers %q, want %q", pod, got, want)
		}
	}
	if got := p.forwarded("etcd-other", 2379); !strings.Contains(got, "not found") {
		s.t.Errorf("a pod that is not there: %s", got)
	}
}
