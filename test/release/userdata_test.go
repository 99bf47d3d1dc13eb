package release_test

import (
	"os/exec"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// limit is what the files of a machine may have at most: 32 KiB is the least that a CloudStack takes as user data, in base64, and
// kubeadm's certificates and configuration need some of it.
const limit = 12 << 10

// TestFilesFitIntoUserData looks at the files that flavours write into machines: cloud-init renders all of user data with jinja, and
// scripts must be such.
func TestFilesFitIntoUserData(t *testing.T) {
	found := 0
	for _, flavour := range flavours(t) {
		for _, o := range generate(t, flavour, "default") {
			size := 0
			for _, f := range filesOf(o) {
				found++
				path, _, _ := unstructured.NestedString(f, "path")
				content, _, _ := unstructured.NestedString(f, "content")
				size += len(content)
				for _, special := range []string{"{{", "{%", "{#"} {
					if strings.Contains(content, special) {
						t.Errorf("flavour %q: %s of %s has %s, which jinja would read", flavour, path, o.GetName(), special)
					}
				}
				if strings.HasPrefix(content, "#!/bin/bash\n") {
					checkScript(t, path, content)
				}
			}
			if size > limit {
				t.Errorf("flavour %q: the files of %s have %d bytes, more than %d", flavour, o.GetName(), size, limit)
			}
		}
	}
	if found < 3 {
		t.Errorf("%d files were found, want those of kube-vip and of the stock image", found)
	}
}

func checkScript(t *testing.T, path, content string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "bash", "-n")
	cmd.Stdin = strings.NewReader(content)
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%s: %v\n%s", path, err, text)
	}
}

// filesOf are the files in the kubeadm configuration of a control plane or of workers.
func filesOf(o *unstructured.Unstructured) []map[string]any {
	var all []map[string]any
	for _, path := range [][]string{{"spec", "kubeadmConfigSpec", "files"}, {"spec", "template", "spec", "files"}} {
		files, _, _ := unstructured.NestedSlice(o.Object, path...)
		for _, f := range files {
			all = append(all, f.(map[string]any))
		}
	}
	return all
}
