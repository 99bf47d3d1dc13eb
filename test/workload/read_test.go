package workload

import (
	"testing"

	"github.com/Masterminds/semver/v3"
	"github.com/google/go-cmp/cmp"
)

func TestWriteFiles(t *testing.T) {
	t.Parallel()
	data := "#cloud-config\nwrite_files:\n- {path: /plain, content: a}\n- {path: /b64, encoding: b64, content: Yg==}\n- {path: /gz, encoding: gz+b64, content: H4sIAAAAAAACA0sGAG/fuQYBAAAA}\n" +
		"- {path: /more, content: x, permissions: '0755'}\n- {path: /more, content: z, append: true, permissions: '0700'}\n- {path: /bad, encoding: b64, content: '%'}\nruncmd:\n- [echo, \"a b\"]\n- plain\n"
	c, warnings, err := readUserData([]byte(data), instance{})
	if err != nil || len(warnings) != 1 {
		t.Fatal(err, warnings)
	}
	got := map[string]string{}
	for path, f := range c.files {
		got[path] = f.content
		if f.executable != (path == "/more") {
			t.Errorf("%s executable: %t", path, f.executable)
		}
	}
	if diff := cmp.Diff(map[string]string{"/plain": "a", "/b64": "b", "/gz": "c", "/more": "xz"}, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"echo 'a b'", "plain"}, c.commands); diff != "" {
		t.Error(diff)
	}
}

func TestJinja(t *testing.T) {
	t.Parallel()
	values := instance{id: "i-1", hostName: "Host"}.metadata()
	for text, want := range map[string]string{
		"cloudstack:///{{ ds.meta_data.instance_id }}": "cloudstack:///i-1", "{{ds.meta_data['instance-id']}}": "i-1", "{{ v1.local_hostname | lower }}": "host",
		"{{ nothing | default('x') }}": "x", "{{ nothing }}": "CI_MISSING_JINJA_VAR/nothing", "plain {": "plain {",
	} {
		if got, _ := renderJinja(text, values); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

func TestSplitStatements(t *testing.T) {
	t.Parallel()
	for line, want := range map[string][]statement{
		"a && b || c; d":            {{";", "a"}, {"&&", "b"}, {"||", "c"}, {";", "d"}},
		`echo "a; b" && c`:          {{";", `echo "a; b"`}, {"&&", "c"}},
		`[ x ] || { say; exit 1; }`: {{";", "[ x ]"}, {"||", "{ say; exit 1; }"}},
		`f() { a "${b}"; c; }`:      {{";", `f() { a "${b}"; c; }`}},
		`x=$(a; b)`:                 {{";", "x=$(a; b)"}},
	} {
		if diff := cmp.Diff(want, splitStatements(line), cmp.AllowUnexported(statement{})); diff != "" {
			t.Errorf("%s: %s", line, diff)
		}
	}
}

func TestInstalledVersion(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		text string
		args []string
		want string
	}{
		"pinned package": {"apt-get install -y kubelet=1.33.2-1.1 kubeadm=1.33.2-1.1", nil, "1.33.2"},
		"rpm":            {"dnf install -y kubeadm-1.33.2 --disableexcludes=kubernetes", nil, "1.33.2"},
		"argument":       {`apt-get install "kubeadm=$1-*"`, []string{"v1.34.7"}, "1.34.7"},
		"released file":  {"curl -L https://dl.k8s.io/release/v1.35.1/bin/linux/amd64/kubeadm", nil, "1.35.1"},
		"minor":          {"echo https://pkgs.k8s.io/core:/stable:/v1.34/deb/\napt-get install kubeadm", nil, "1.34.0"},
		"variable":       {"VERSION=1.34.3\nwget https://dl.k8s.io/v${VERSION}/bin/kubelet", nil, "1.34.3"},
		"other program":  {"apt-get install containerd=1.7.20", nil, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := ""
			if installers.MatchString(test.text) {
				got = installedVersion(test.text, test.args)
			}
			if got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}

func TestSkew(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		kubeadm, plane string
		preflight      bool
		warns, fails   bool
	}{
		"same":                {"v1.34.2", "v1.34.0", true, false, false},
		"plane newer":         {"v1.34.2", "v1.35.0", true, true, false},
		"plane one older":     {"v1.35.0", "v1.34.2", true, false, true},
		"worker of one newer": {"v1.35.0", "v1.34.2", false, false, false},
		"plane two older":     {"v1.36.0", "v1.34.2", false, false, true},
		"no version":          {"v1.36.0", "newest", false, false, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			warning, err := checkSkew(semver.MustParse(test.kubeadm), test.plane, test.preflight)
			if (warning != "") != test.warns || (err != nil) != test.fails {
				t.Errorf("warning %q, error %v", warning, err)
			}
		})
	}
}

// TestKubeadmConfigs: both versions of the configuration say the same.
func TestKubeadmConfigs(t *testing.T) {
	t.Parallel()
	const cluster = "kind: ClusterConfiguration\nkubernetesVersion: v1.34.2\ncontrolPlaneEndpoint: 10.0.0.1:6443\n"
	tests := map[string]struct {
		text, kubeadm string
		fails         bool
	}{
		"v1beta3":                   {"---\napiVersion: kubeadm.k8s.io/v1beta3\n" + cluster + "---\napiVersion: kubeadm.k8s.io/v1beta3\nkind: InitConfiguration\nnodeRegistration:\n  taints: []\n  kubeletExtraArgs: {provider-id: p}\n", "v1.34.2", false},
		"v1beta4":                   {"apiVersion: kubeadm.k8s.io/v1beta4\n" + cluster + "---\napiVersion: kubeadm.k8s.io/v1beta4\nkind: InitConfiguration\nnodeRegistration:\n  taints: []\n  kubeletExtraArgs: [{name: provider-id, value: p}]\n", "v1.34.2", false},
		"v1beta4 of an old kubeadm": {"apiVersion: kubeadm.k8s.io/v1beta4\n" + cluster, "v1.30.2", true},
		"of another program":        {"apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n", "v1.34.2", true},
		"not YAML":                  {"apiVersion: [", "v1.34.2", true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, err := readKubeadmConfig(test.text, semver.MustParse(test.kubeadm))
			if (err != nil) != test.fails {
				t.Fatalf("error %v", err)
			}
			if test.fails {
				return
			}
			r := c.init.NodeRegistration
			if c.cluster.KubernetesVersion != "v1.34.2" || c.cluster.ControlPlaneEndpoint != "10.0.0.1:6443" || r.KubeletExtraArgs["provider-id"] != "p" || r.Taints == nil || len(*r.Taints) != 0 {
				t.Errorf("read %+v", c)
			}
		})
	}
}

// TestQuotesInArgumentsOfKubelet: systemd takes them out of the middle of words, too, as manifests of Cluster API Provider CloudStack
// count on.
func TestQuotesInArgumentsOfKubelet(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"cloudstack:///0f3c": "cloudstack:///0f3c", "cloudstack:///'0f3c'": "cloudstack:///0f3c", `"cloudstack:///0f3c"`: "cloudstack:///0f3c",
		`'a "b"'"c"`: `a "b"c`, "it's": "it's", "": "",
	} {
		if got := (arguments{"provider-id": text}).ofAService()["provider-id"]; got != want {
			t.Errorf("%s became %s, want %s", text, got, want)
		}
	}
}
