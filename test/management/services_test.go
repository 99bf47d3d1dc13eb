package management

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

// A manager that asks for a Service by its name comes to the process that the port of the Service leads to.
func TestServicesAreReachedByName(t *testing.T) {
	hooks := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "hooks for "+r.Host) // the test reads it
	}))
	t.Cleanup(hooks.Close)
	proxy := httptest.NewServer(&services{reader: fake.NewClientBuilder().WithObjects(
		service("hooks", 9444), slice(t, "hooks", hooks.Listener.Addr(), true),
		service("starting", 9444), slice(t, "starting", hooks.Listener.Addr(), false),
	).Build()})
	t.Cleanup(proxy.Close)

	for _, tc := range []struct{ name, host, want, wrong string }{
		{name: "a Service", host: "hooks.capc-system.svc:9444", want: "hooks for hooks.capc-system.svc:9444"},
		{name: "a Service by its whole name", host: "hooks.capc-system.svc.cluster.local:9444", want: "hooks for hooks.capc-system.svc.cluster.local:9444"},
		{name: "another port", host: "hooks.capc-system.svc:443", wrong: "Bad Gateway"},
		{name: "no such Service", host: "hooks.other.svc:9444", wrong: "Bad Gateway"},
		{name: "a Service whose process is not ready", host: "starting.capc-system.svc:9444", wrong: "Bad Gateway"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := ask(t, proxy, hooks, tc.host)
			if got != tc.want || (err == nil) != (tc.wrong == "") || err != nil && !strings.Contains(err.Error(), tc.wrong) {
				t.Errorf("got %q, %v, want %q, %q", got, err, tc.want, tc.wrong)
			}
		})
	}
}

// What is no Service is reached as without a proxy, and only by a tunnel.
func TestOthersAreReachedAsTheyAre(t *testing.T) {
	there := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "here") }))
	t.Cleanup(there.Close)
	proxy := httptest.NewServer(&services{reader: fake.NewClientBuilder().Build()})
	t.Cleanup(proxy.Close)
	if got, err := ask(t, proxy, there, there.Listener.Addr().String()); got != "here" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	resp, err := proxy.Client().Get(proxy.URL)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("without a tunnel it answers %s", resp.Status)
	}
}

// ask reads https://host/ through the proxy, and trusts the certificate of a server of tests.
func ask(t *testing.T, proxy, server *httptest.Server, host string) (string, error) {
	t.Helper()
	through, err := url.Parse(proxy.URL)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	transport := &http.Transport{Proxy: http.ProxyURL(through), TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: "example.com"}}
	defer transport.CloseIdleConnections()
	resp, err := (&http.Client{Transport: transport}).Get("https://" + host + "/")
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return string(text), err
}

func service(name string, port int32) client.Object {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "capc-system", Name: name},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "webhooks", Port: 444}, {Name: "runtime-hooks", Port: port}}},
	}
}

func slice(t *testing.T, service string, at net.Addr, ready bool) client.Object {
	t.Helper()
	host, text, err := net.SplitHostPort(at.String())
	if err != nil {
		t.Fatal(err)
	}
	number, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	port, name := int32(number), "runtime-hooks"
	return &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{Namespace: "capc-system", Name: service + "-process", Labels: map[string]string{discoveryv1.LabelServiceName: service}},
		Endpoints:  []discoveryv1.Endpoint{{Addresses: []string{host}, Conditions: discoveryv1.EndpointConditions{Ready: &ready}}},
		Ports:      []discoveryv1.EndpointPort{{Name: &name, Port: &port}},
	}
}
