package cmd

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestConvert(t *testing.T) {
	dir := t.TempDir()
	source := filepath.Join(corpus, "qcow2-v3-compressed.qcow2")
	targets := []string{filepath.Join(dir, "n.ova"), filepath.Join(dir, "n.vhd"), filepath.Join(dir, "n.qcow2.bz2")}
	stdout, stderr, code := capcat(t, append([]string{"convert", source, "-o", "json", "--os", "debian-12"}, targets...)...)
	var got struct{ Files []converted }
	if err := json.Unmarshal([]byte(stdout), &got); err != nil || code != 0 || stderr != "" {
		t.Fatalf("exit %d, %q, %q: %v", code, stdout, stderr, err)
	}
	for i, f := range got.Files {
		side, err := os.ReadFile(f.Path + ".sha256")
		if err != nil || f.Path != targets[i] || string(side) != f.SHA256+"  "+filepath.Base(f.Path)+"\n" {
			t.Errorf("%+v, side file %q (%v)", f, side, err)
		}
		v, code := inspected(t, f.Path)
		if code != 0 || string(v.Format) != string(f.Format) || v.VirtualSizeBytes != f.VirtualSizeBytes {
			t.Errorf("inspected as %+v", v)
		}
	}
	if _, stderr, code := capcat(t, "convert", source, targets[0]); code != 1 || !strings.Contains(stderr, "exists") {
		t.Errorf("a second time: exit %d, %q", code, stderr)
	}
	stdout, _, code = capcat(t, "convert", source, targets[1], "--force", "--sums=false")
	lines := strings.Split(stdout, "\n")
	if code != 0 || len(lines) != 3 || !strings.HasPrefix(lines[0], "FILE") || !strings.Contains(lines[1], got.Files[1].SHA256) {
		t.Errorf("exit %d, %q", code, stdout)
	}
}

func TestConvertRefuses(t *testing.T) {
	good := filepath.Join(corpus, "qcow2-v3.qcow2")
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"no target":     {[]string{good}, "at least 2"},
		"unknown kind":  {[]string{good, "n.iso"}, "says no format"},
		"second target": {[]string{good, "n.vhd", "n.iso"}, "says no format"},
		"no source":     {[]string{"none", "n.vhd"}, "no such file"},
		"backing file":  {[]string{filepath.Join(corpus, "qcow2-backing-v3.qcow2"), "n.vhd"}, "BackingFile"},
		"output":        {[]string{good, "n.vhd", "-o", "xml"}, "text or json"},
		"source format": {[]string{good, "n.vhd", "--source-format", "x"}, "--source-format"},
		"too large":     {[]string{good, "n.vhd", "--max-virtual-size", "1Mi"}, "VirtualSizeTooLarge"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			args := []string{"convert"}
			for _, a := range c.args {
				if strings.HasPrefix(a, "n.") {
					a = filepath.Join(dir, a)
				}
				args = append(args, a)
			}
			if _, stderr, code := capcat(t, args...); code != 1 || !strings.Contains(stderr, c.want) {
				t.Errorf("exit %d, %q, want %q", code, stderr, c.want)
			}
			left, err := os.ReadDir(dir)
			if diff := cmp.Diff(0, len(left)); diff != "" || err != nil {
				t.Errorf("%v was left (%v)", left, err)
			}
		})
	}
}
