package management

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func examplePod() *pod {
	return &pod{
		ports: map[int32]int32{9443: 31001, 9440: 31002, 8443: 31003, 8082: 31004},
		named: map[string]int32{"webhook-server": 9443, "healthz": 9440, "metrics": 8443, "images": 8082},
		mounts: map[string]string{
			"/tmp": "/pods/p/volumes/tmp", servingCerts: "/pods/p/volumes/cert", "/var/lib/capcat": "/pods/p/volumes/data",
		},
	}
}

func TestArguments(t *testing.T) {
	for name, c := range map[string]struct {
		container corev1.Container
		env       map[string]string
		want      []string
	}{
		"nothing given": {
			want: []string{"--webhook-port=31001", "--webhook-cert-dir=/pods/p/volumes/cert", "--health-addr=:31002", "--diagnostics-address=:31003"},
		},
		"ports and paths of the container": {
			container: corev1.Container{
				Command: []string{"/manager", "--first"},
				Args:    []string{"--leader-elect", "--diagnostics-address=:8443", "--health-addr=localhost:9440", "--webhook-port=1", "--data-dir=/var/lib/capcat/blobs", "--serve-addr=:8082"},
			},
			want: []string{
				"--first", "--leader-elect", "--diagnostics-address=:31003", "--health-addr=localhost:31002", "--webhook-port=1",
				"--data-dir=/pods/p/volumes/data/blobs", "--serve-addr=:31004", "--webhook-cert-dir=/pods/p/volumes/cert", "--leader-elect=false",
			},
		},
		"what only looks like them": {
			container: corev1.Container{Args: []string{"--url=http://example.org:8443", "--time=10:20", "--dir=/var/lib/capcat2", "/tmp/x", "--webhook-cert-dir=/tmp/k8s-webhook-server/serving-certs/a"}},
			want: []string{
				"--url=http://example.org:8443", "--time=10:20", "--dir=/var/lib/capcat2", "/pods/p/volumes/tmp/x", "--webhook-cert-dir=/pods/p/volumes/cert/a",
				"--webhook-port=31001", "--health-addr=:31002", "--diagnostics-address=:31003",
			},
		},
		"variables": {
			container: corev1.Container{Args: []string{"--name=$(POD_NAME)", "--other=$(UNKNOWN)", "--money=$$(POD_NAME)"}},
			env:       map[string]string{"POD_NAME": "m-0"},
			want: []string{
				"--name=m-0", "--other=$(UNKNOWN)", "--money=$(POD_NAME)",
				"--webhook-port=31001", "--webhook-cert-dir=/pods/p/volumes/cert", "--health-addr=:31002", "--diagnostics-address=:31003",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, examplePod().arguments(&c.container, c.env)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestReadiness(t *testing.T) {
	probe := func(path string, port intstr.IntOrString) *corev1.Probe {
		return &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: path, Port: port}}}
	}
	for name, c := range map[string]struct {
		probe *corev1.Probe
		want  string
	}{
		"no probe":       {nil, "http://127.0.0.1:31002/readyz"},
		"named port":     {probe("/healthy", intstr.FromString("metrics")), "http://127.0.0.1:31003/healthy"},
		"numbered port":  {probe("/readyz", intstr.FromInt32(8082)), "http://127.0.0.1:31004/readyz"},
		"undeclared one": {probe("/readyz", intstr.FromInt32(1)), "http://127.0.0.1:31002/readyz"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := examplePod().readiness(&corev1.Container{ReadinessProbe: c.probe}); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestProgramOfAnImage(t *testing.T) {
	p := &pods{programs: map[string]Program{"capc-controller": {Path: "here"}}}
	for name, c := range map[string]struct {
		container, image string
		found            bool
	}{
		"released":        {"manager", "ghcr.io/capcat/capc-controller:v0.1.0", true},
		"with a port":     {"manager", "registry.example.org:5000/capc-controller", true},
		"by digest":       {"manager", "ghcr.io/capcat/capc-controller@sha256:abc", true},
		"another image":   {"manager", "ghcr.io/capcat/other:v1", false},
		"another purpose": {"proxy", "ghcr.io/capcat/capc-controller:v0.1.0", false},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := p.program([]corev1.Container{{Name: c.container, Image: c.image}})
			if (err == nil) != c.found {
				t.Errorf("got %v, want found %v", err, c.found)
			}
		})
	}
}
