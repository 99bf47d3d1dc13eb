package workload

import (
	"fmt"
	"net"
	"regexp"
	"strconv"
	"strings"

	"github.com/Masterminds/semver/v3"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

const (
	apiPort   = 6443
	etcdPort  = 2379
	groupName = "kubeadm.k8s.io/"
)

// arguments are extra arguments of a component: a map in v1beta3, a list in v1beta4.
type arguments map[string]string

// UnmarshalJSON reads either form.
func (a *arguments) UnmarshalJSON(data []byte) error {
	*a = arguments{}
	var m map[string]string
	if err := yaml.Unmarshal(data, &m); err == nil {
		*a = m
		return nil
	}
	var list []struct{ Name, Value string }
	if err := yaml.Unmarshal(data, &list); err != nil {
		return fmt.Errorf("reading extra arguments: %w", err)
	}
	for _, x := range list {
		(*a)[x.Name] = x.Value
	}
	return nil
}

// quoting is what systemd takes out of the words of a variable: pairs of quotes, wherever they stand in a word.
var quoting = regexp.MustCompile(`'([^']*)'|"([^"]*)"`)

// ofAService are the arguments as kubelet sees them: kubeadm leaves them in a variable of its unit, and systemd splits that into
// words.
func (a arguments) ofAService() arguments {
	out := arguments{}
	for name, value := range a {
		out[name] = quoting.ReplaceAllString(value, "$1$2")
	}
	return out
}

// nodeRegistration is how a machine becomes a Node.
type nodeRegistration struct {
	Name             string          `json:"name"`
	Taints           *[]corev1.Taint `json:"taints"`
	KubeletExtraArgs arguments       `json:"kubeletExtraArgs"`
}

type localEndpoint struct {
	AdvertiseAddress string `json:"advertiseAddress"`
	BindPort         int    `json:"bindPort"`
}

// port is what an API server listens on.
func (e *localEndpoint) port() int {
	if e == nil || e.BindPort == 0 {
		return apiPort
	}
	return e.BindPort
}

type initConfiguration struct {
	NodeRegistration nodeRegistration `json:"nodeRegistration"`
	LocalAPIEndpoint *localEndpoint   `json:"localAPIEndpoint"`
	SkipPhases       []string         `json:"skipPhases"`
}

type clusterConfiguration struct {
	KubernetesVersion    string `json:"kubernetesVersion"`
	ControlPlaneEndpoint string `json:"controlPlaneEndpoint"`
	ClusterName          string `json:"clusterName"`
	APIServer            struct {
		CertSANs []string `json:"certSANs"`
	} `json:"apiServer"`
	Networking struct {
		ServiceSubnet string `json:"serviceSubnet"`
		PodSubnet     string `json:"podSubnet"`
	} `json:"networking"`
	Etcd struct {
		External *struct {
			Endpoints []string `json:"endpoints"`
		} `json:"external"`
	} `json:"etcd"`
}

type joinConfiguration struct {
	NodeRegistration nodeRegistration `json:"nodeRegistration"`
	Discovery        struct {
		BootstrapToken *struct {
			Token             string   `json:"token"`
			APIServerEndpoint string   `json:"apiServerEndpoint"`
			CACertHashes      []string `json:"caCertHashes"`
			Unsafe            bool     `json:"unsafeSkipCAVerification"`
		} `json:"bootstrapToken"`
		File *struct {
			KubeConfigPath string `json:"kubeConfigPath"`
		} `json:"file"`
		TLSBootstrapToken string `json:"tlsBootstrapToken"`
	} `json:"discovery"`
	ControlPlane *struct {
		LocalAPIEndpoint *localEndpoint `json:"localAPIEndpoint"`
	} `json:"controlPlane"`
	SkipPhases []string `json:"skipPhases"`
}

// kubeadmConfig is a configuration file of kubeadm. Documents that are not there are zero.
type kubeadmConfig struct {
	init    initConfiguration
	join    *joinConfiguration
	cluster clusterConfiguration
	// clusterText is the document of the cluster as it was written.
	clusterText string
}

// readKubeadmConfig reads a file as the kubeadm of a version does.
func readKubeadmConfig(text string, version *semver.Version) (kubeadmConfig, error) {
	var c kubeadmConfig
	known := false
	for _, doc := range splitDocuments(text) {
		var kind struct{ APIVersion, Kind string }
		if err := yaml.Unmarshal([]byte(doc), &kind); err != nil {
			return c, fmt.Errorf("reading the configuration: %w", err)
		}
		if !strings.HasPrefix(kind.APIVersion, groupName) {
			continue // of kubelet and kube-proxy
		}
		if err := apiVersionKnown(kind.APIVersion, kind.Kind, version); err != nil {
			return c, err
		}
		var to any
		switch kind.Kind {
		case "InitConfiguration":
			to = &c.init
		case "ClusterConfiguration":
			c.clusterText, to = doc, &c.cluster
		case "JoinConfiguration":
			c.join = &joinConfiguration{}
			to = c.join
		default:
			continue
		}
		known = true
		if err := yaml.Unmarshal([]byte(doc), to); err != nil {
			return c, fmt.Errorf("reading the %s: %w", kind.Kind, err)
		}
	}
	if !known {
		return c, fmt.Errorf("no kind of %s is in the configuration", strings.TrimSuffix(groupName, "/"))
	}
	return c, nil
}

func splitDocuments(text string) []string {
	var out []string
	for doc := range strings.SplitSeq("\n"+text, "\n---") {
		if strings.TrimSpace(doc) != "" {
			out = append(out, strings.TrimPrefix(doc, "\n"))
		}
	}
	return out
}

// Minors of Kubernetes at which versions of the configuration came.
const (
	sinceBeta3 = 22
	sinceBeta4 = 31
)

// apiVersionKnown refuses versions of the configuration that a kubeadm does not know, or no longer.
func apiVersionKnown(apiVersion, kind string, v *semver.Version) error {
	since, ok := map[string]uint64{groupName + "v1beta3": sinceBeta3, groupName + "v1beta4": sinceBeta4}[apiVersion]
	switch {
	case !ok && (strings.HasSuffix(apiVersion, "v1beta1") || strings.HasSuffix(apiVersion, "v1beta2")):
		return fmt.Errorf("your configuration file uses an old API spec: %q (kind: %q)", apiVersion, kind)
	case !ok || v.Minor() < since:
		return fmt.Errorf("no kind %q is registered for version %q in this version of kubeadm", kind, apiVersion)
	}
	return nil
}

// checkSkew is kubeadm's rule about itself, its kubelet and the version of a control plane. A control plane that is newer than kubeadm is
// a warning only.
func checkSkew(kubeadm *semver.Version, controlPlane string, preflight bool) (warning string, err error) {
	v, err := semver.NewVersion(controlPlane)
	if err != nil {
		return "", fmt.Errorf("couldn't parse Kubernetes version %q: %w", controlPlane, err)
	}
	switch {
	case v.Major() != kubeadm.Major() || v.Minor()+1 < kubeadm.Minor():
		return "", fmt.Errorf("this version of kubeadm only supports deploying clusters with the control plane version >= %d.%d.0. Current version: v%s", kubeadm.Major(), kubeadm.Minor()-1, v)
	case preflight && kubeadm.Minor() > v.Minor():
		return "", fmt.Errorf("[ERROR KubeletVersion]: the kubelet version is higher than the control plane version. This is not a supported version skew and may lead to a malfunctional cluster. Kubelet version: %q Control plane version: %q", kubeadm, v)
	case v.Minor() > kubeadm.Minor():
		return fmt.Sprintf("[WARNING KubernetesVersion]: Kubernetes version is greater than kubeadm version. Please consider to upgrade kubeadm. Kubernetes version: %s. Kubeadm version: %d.%d.x", v, kubeadm.Major(), kubeadm.Minor()), nil
	}
	return "", nil
}

// endpoint completes host[:port] by the port of the API.
func endpoint(address, byDefault string, port int) string {
	if address == "" {
		return net.JoinHostPort(byDefault, strconv.Itoa(port))
	}
	if _, _, err := net.SplitHostPort(address); err == nil {
		return address
	}
	return net.JoinHostPort(strings.Trim(address, "[]"), strconv.Itoa(port))
}
