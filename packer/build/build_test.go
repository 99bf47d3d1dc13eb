package build_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/imagecatalog"
	"github.com/capcat/capcat/imagecatalog/artifact"
	"github.com/capcat/capcat/imagecatalog/artifact/inspect"
	"github.com/capcat/capcat/imagecatalog/catalogfile"
	"github.com/capcat/capcat/packer/build"
)

const catalog = `# A catalog of my own.
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: TemplateCatalog
metadata: {name: mine}
spec:
  identityRef: {name: cloudstack}
  zones:
  - name: zone-a # the old one
    hypervisor: KVM
`

func TestBuildMakesEverything(t *testing.T) {
	b := newBench(t)
	b.install(t)
	o := b.options()
	o.BaseURL = "https://images.example.com/nodes/"
	o.Catalog = filepath.Join(b.dir, "catalog.yaml")
	write(t, o.Catalog, catalog, 0o640)
	r, steps, err := run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"tools", "base image", "accelerator", "(tcg)", "packer", "boot", "login", "packages", "kubernetes", "smoke test", "shutdown",
		"qcow2", "qcow2.bz2", "ova", "vhd", "vhd.bz2",
	}
	if diff := cmp.Diff(want, steps); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	var files []string
	for _, suffix := range build.Outputs() {
		for _, side := range []string{"", ".sha256", ".sha512"} {
			files = append(files, "debian-12-kube-v1.36.3."+suffix+side)
		}
	}
	for _, suffix := range []string{"catalog-entry.yaml", "log", "spdx.json"} {
		files = append(files, "debian-12-kube-v1.36.3."+suffix)
	}
	slices.Sort(files)
	if diff := cmp.Diff(files, b.left(t)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	for _, suffix := range []string{"qcow2", "ova", "vhd"} {
		accepted(t, filepath.Join(b.out, r.Name+"."+suffix))
	}
	entryIsInCatalog(t, r, o.Catalog)
}

// accepted inspects a file as the pipeline does, and compares its side file.
func accepted(t *testing.T, path string) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	report, err := inspect.Inspect(t.Context(), f, info.Size(), inspect.Options{})
	if err != nil || report.Verdict != inspect.Accept {
		t.Errorf("%s: %+v, %v", filepath.Base(path), report, err)
	}
	if side := read(t, path+".sha256"); !strings.HasSuffix(side, "  "+filepath.Base(path)+"\n") {
		t.Errorf("the side file of %s says %q", filepath.Base(path), side)
	}
}

func entryIsInCatalog(t *testing.T, r build.Result, file string) {
	t.Helper()
	text := read(t, file)
	if !strings.HasPrefix(text, strings.SplitAfter(catalog, "spec:\n")[0]) || !strings.Contains(text, "- name: zone-a # the old one\n") {
		t.Errorf("the catalog lost something:\n%s", text)
	}
	all, err := imagecatalog.DecodeCatalogs(strings.NewReader(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	digest := map[string]string{}
	for _, image := range r.Images {
		digest[filepath.Base(image.Path)] = image.SHA256.Hex
	}
	source := func(h infrav1.Hypervisor, suffix string) infrav1.CatalogArtifact {
		name := "debian-12-kube-v1.36.3." + suffix
		return infrav1.CatalogArtifact{KubernetesVersion: version, Hypervisor: h, ImageSource: infrav1.ImageSource{
			URLs:     []infrav1.SourceURL{infrav1.SourceURL("https://images.example.com/nodes/" + name)},
			Checksum: infrav1.Checksum{Algorithm: "sha256", Value: digest[name]},
		}}
	}
	want := []infrav1.CatalogImage{{
		Name: "debian-12-kube-v1-36-3", OS: "debian-12", Arch: "x86_64",
		Artifacts: []infrav1.CatalogArtifact{source("KVM", "qcow2"), source("VMware", "ova"), source("XenServer", "vhd.bz2")},
		Template:  infrav1.TemplateOptions{OSType: "Debian GNU/Linux 12 (64-bit)"},
	}}
	if diff := cmp.Diff(want, all[0].Spec.Images); diff != "" {
		t.Errorf("images of the catalog (-want +got):\n%s", diff)
	}
	for _, part := range []string{"virtual size 4194304 bytes", "# contains program kubelet v1.36.3", "# contains 4 packages"} {
		if !strings.Contains(r.Entry.Text, part) {
			t.Errorf("the entry does not say %q:\n%s", part, r.Entry.Text)
		}
	}
}

func TestBillOfMaterials(t *testing.T) {
	b := newBench(t)
	b.install(t)
	o := b.options()
	o.Outputs = []string{"qcow2"}
	r, _, err := run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		SPDXVersion string `json:"spdxVersion"`
		Packages    []struct {
			SPDXID, Name, LicenseDeclared, LicenseComments string
			ExternalRefs                                   []struct{ ReferenceLocator string }
		}
		Relationships []struct{ RelationshipType, RelatedSpdxElement string }
	}
	if err := json.Unmarshal([]byte(read(t, r.SBOM)), &doc); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, p := range doc.Packages {
		line := p.LicenseDeclared
		for _, ref := range p.ExternalRefs {
			line += " " + ref.ReferenceLocator
		}
		got[p.Name] = line
	}
	want := map[string]string{
		"debian-12-kube-v1.36.3": "NOASSERTION", "debian-12": "NOASSERTION",
		"kubelet":               "Apache-2.0 pkg:generic/kubelet@v1.36.3",
		"registry.k8s.io/pause": "NOASSERTION pkg:docker/pause@3.10.2?repository_url=registry.k8s.io%2Fpause",
		"perl-base":             "GPL-1.0-or-later OR Artistic-1.0-Perl pkg:deb/debian/perl-base@5.36?arch=amd64&distro=debian-12",
		"bash":                  "GPL-3.0-or-later pkg:deb/debian/bash@5.2.15-2%2Bb9?arch=amd64&distro=debian-12",
		"zlib1g":                "Zlib pkg:deb/debian/zlib1g@1%3A1.2.13?arch=amd64&distro=debian-12",
		"odd":                   "NOASSERTION pkg:deb/debian/odd@1?arch=all&distro=debian-12",
	}
	if diff := cmp.Diff(want, got); diff != "" || doc.SPDXVersion != "SPDX-2.3" || len(doc.Relationships) != len(doc.Packages) {
		t.Errorf("%s, %d relationships (-want +got):\n%s", doc.SPDXVersion, len(doc.Relationships), diff)
	}
}

// Two builds of one name do not write into one log: the second ends at once.
func TestOneBuildOfANameAtATime(t *testing.T) {
	b := newBench(t)
	b.install(t)
	o := b.options()
	o.Outputs = []string{"qcow2"}
	o.Report = func(e build.Event) {
		if e.Step != "shutdown" {
			return
		}
		second := b.options()
		second.Outputs = o.Outputs
		if _, err := build.Build(t.Context(), second); !errors.Is(err, build.ErrBusy) {
			t.Errorf("the second build ended with %v", err)
		}
	}
	r, err := build.Build(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if log := read(t, r.Log); !strings.Contains(log, "debian-12-kube-v1.36.3, Packer 1.6.6") {
		t.Errorf("the log lost its begin:\n%s", log)
	}
	for _, name := range b.left(t) {
		if strings.HasPrefix(name, ".") {
			t.Errorf("%s is left", name)
		}
	}
}

func TestAcceleratorIsProbed(t *testing.T) {
	tests := map[string]struct {
		qemu, want string
	}{
		"a kernel comes up":               {"echo SeaBIOS; echo '[    0.9] Run /init as init process'; exec sleep 60", "(kvm)"},
		"the firmware alone comes up":     {"echo SeaBIOS", "(tcg)"},
		"the processor cannot do it":      {"echo 'KVM internal error. Suberror: 1' >&2; exit 1", "(tcg)"},
		"the accelerator is not built in": {"echo 'invalid accelerator kvm' >&2; exit 1", "(tcg)"},
	}
	if _, err := os.Stat("/dev/kvm"); err != nil {
		t.Log("this computer has no /dev/kvm: nothing but emulation can be chosen")
		tests = map[string]struct{ qemu, want string }{"no device": {"exit 1", "(tcg)"}}
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.install(t, "qemu-system-x86_64")
			write(t, filepath.Join(b.bin, "qemu-system-x86_64"), "#!/bin/sh\n"+c.qemu+"\n", 0o755)
			o := b.options()
			o.Accelerator, o.Outputs = build.Auto, []string{"qcow2"}
			_, steps, err := run(t.Context(), o)
			if err != nil || !slices.Contains(steps, c.want) {
				t.Errorf("got %v, %v, want %s", steps, err, c.want)
			}
		})
	}
}

// An arm64 machine has no firmware of its own: the probe and Packer get the same.
func TestFirmwareIsHandedOn(t *testing.T) {
	b := newBench(t)
	b.install(t)
	write(t, filepath.Join(b.bin, "qemu-system-aarch64"), "#!/bin/sh\nprintf '%s\\n' \"$@\" >"+b.dir+"/probe\necho 'Run /init as init process'\nexec sleep 60\n", 0o755)
	firmware := b.file(t, "QEMU_EFI.fd", "firmware")
	o := b.options()
	o.Architecture, o.Accelerator, o.Outputs, o.Variables = "arm64", "hvf", []string{"qcow2"}, map[string]string{"firmware": firmware}
	r, _, err := run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if r.Name != "debian-12-kube-v1.36.3-arm64" {
		t.Errorf("the name is %s", r.Name)
	}
	for file, want := range map[string]string{"probe": "-bios\n" + firmware + "\n", "arguments": "-var\nfirmware=" + firmware + "\n"} {
		if got := read(t, filepath.Join(b.dir, file)); !strings.Contains(got, want) {
			t.Errorf("%s is without the firmware:\n%s", file, got)
		}
	}
}

// failing ends Packer in the way of one whose step failed.
func failing(output ...string) string {
	lines := append(output,
		"==> qemu.node: Provisioning step had errors: Running the cleanup provisioner, if present...",
		"==> qemu.node: Deleting output directory...",
		"Build 'qemu.node' errored after 7 minutes 14 seconds: Script exited with non-zero exit status: 1.Allowed exit codes are: [0]",
		"", "==> Wait completed after 7 minutes 14 seconds", "", "==> Some builds didn't complete successfully and had errors:",
		"--> qemu.node: Script exited with non-zero exit status: 1.Allowed exit codes are: [0]", "", "==> Builds finished but no artifacts were created.",
	)
	return "/bin/cat <<'END'\n" + strings.Join(lines, "\n") + "\nEND\nexit 1"
}

func TestBuildFailsClearly(t *testing.T) {
	mirror := httptest.NewServer(http.NotFoundHandler())
	defer mirror.Close()
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	tests := map[string]struct {
		missing []string
		version string
		packer  string // shell
		booting bool   // ends before the login
		early   bool   // ends before the machine is started
		change  func(*bench, *build.Options)
		is      error
		want    string
		log     bool // is kept
	}{
		"unknown system": {change: func(_ *bench, o *build.Options) { o.OS = "plan-9" }, is: build.ErrUnknown, want: "debian-12, debian-13"},
		"recipes without a system": {change: func(_ *bench, o *build.Options) { o.Recipes = fstest.MapFS{} }, is: build.ErrUnknown,
			want: "there is no file os/<name>/os.pkrvars.hcl"},
		"system that leaves the tree": {change: func(_ *bench, o *build.Options) { o.OS = "../x" }, is: build.ErrUnknown, want: "there are"},
		"unknown version":             {change: func(_ *bench, o *build.Options) { o.KubernetesVersion = "v1.36.99" }, is: build.ErrUnknown, want: "there are v1.36.3"},
		"version without v":           {change: func(_ *bench, o *build.Options) { o.KubernetesVersion = "1.36.3" }, is: build.ErrUnknown, want: "v1.36.3"},
		"unknown output":              {change: func(_ *bench, o *build.Options) { o.Outputs = []string{"vdi"} }, want: `output "vdi" is none of`},
		"variable of the build":       {change: func(_ *bench, o *build.Options) { o.Variables = map[string]string{"seed": "x"} }, want: "seed is set by the build"},
		"unknown variable": {change: func(_ *bench, o *build.Options) { o.Variables = map[string]string{"crictl": "x"} },
			is: build.ErrUnknown, want: `variable "crictl": the recipes have none; there are accelerator, architecture`},
		"odd name":                       {change: func(_ *bench, o *build.Options) { o.Name = "a/b" }, want: "no plain file name"},
		"secret in the base URL":         {change: func(_ *bench, o *build.Options) { o.BaseURL = "https://me:secret@h/x" }, want: "may have no user"},
		"base URL of a file":             {change: func(_ *bench, o *build.Options) { o.BaseURL = "file:///x" }, want: "no http or https"},
		"name too long for an appliance": {change: func(_ *bench, o *build.Options) { o.Name = strings.Repeat("n", 81) }, want: "up to 80"},
		"base URL with a blank":          {change: func(_ *bench, o *build.Options) { o.BaseURL = "https://h/a b" }, want: "contains blanks"},
		"base URL in capitals":           {change: func(_ *bench, o *build.Options) { o.BaseURL = "HTTPS://h/x" }, want: "must begin with http:// or https://"},
		"base URL too long":              {change: func(_ *bench, o *build.Options) { o.BaseURL = "https://h/" + strings.Repeat("x", 2030) }, want: "longer than"},
		"OS type too long": {change: func(_ *bench, o *build.Options) { o.Variables = map[string]string{"os_type": strings.Repeat("x", 256)} },
			want: "os_type"},
		"folder with a comma": {change: func(b *bench, o *build.Options) { o.Dir = b.dir + "/a,b" }, want: "holds a comma"},
		"no such catalog":     {change: func(b *bench, o *build.Options) { o.Catalog = b.dir + "/none.yaml" }, want: "looking for the catalog"},
		"catalog that is none": {change: func(b *bench, o *build.Options) { o.Catalog = b.dir + "/contents.tsv" },
			is: catalogfile.ErrCatalog, want: "contents.tsv", log: true},
		"no QEMU": {missing: []string{"qemu-system-x86_64", "xorriso"}, is: build.ErrMissingTool, want: "apt-get install qemu-system-x86", log: true},
		"no firmware": {change: func(b *bench, o *build.Options) { o.Variables = map[string]string{"firmware": b.dir + "/none.fd"} },
			want: "looking for the firmware: stat", log: true},
		"no Packer":       {missing: []string{"packer"}, is: build.ErrMissingTool, want: "apt-get install packer", log: true},
		"old Packer":      {version: "1.5.4", is: build.ErrMissingTool, want: "Packer 1.6.6 or newer", log: true},
		"Packer unarmed":  {version: "1.11.2", is: build.ErrMissingTool, want: "packer plugins install github.com/hashicorp/qemu", log: true},
		"no space":        {change: func(_ *bench, o *build.Options) { o.MinFreeBytes = 1 << 60 }, want: "GiB are free", log: true},
		"mirror is down":  {change: func(_ *bench, o *build.Options) { o.PackagesFrom = gone.URL }, is: build.ErrMirror, want: "connection refused", log: true},
		"mirror has none": {change: func(_ *bench, o *build.Options) { o.PackagesFrom = mirror.URL }, is: build.ErrMirror, want: "no kubelet v1.36.3", log: true},
		"other base image": {change: func(_ *bench, o *build.Options) { o.BaseChecksum = "sha256:" + strings.Repeat("0", 64) },
			want: "the base image has sha256", log: true},
		"base image without proof": {change: func(_ *bench, o *build.Options) { o.BaseImage = mirror.URL + "/base.qcow2" }, want: "--base-checksum", log: true},
		"base image is garbage": {change: func(b *bench, o *build.Options) { o.BaseImage = b.file(t, "garbage", "\x01\x02\x03 nothing") },
			want: "the base image cannot be used: BadMagic", log: true},
		"base image is empty": {change: func(b *bench, o *build.Options) { o.BaseImage = b.file(t, "empty", "") },
			want: "the base image cannot be used: EmptyFile", log: true},
		"base image is a page": {change: func(b *bench, o *build.Options) {
			o.BaseImage = b.file(t, "page", "<!DOCTYPE html><html>sign in</html>")
		},
			want: "the base image cannot be used: NotAnImage", log: true},
		"base image is cut off": {change: func(b *bench, o *build.Options) {
			o.BaseImage = b.file(t, "cut", read(t, o.BaseImage)[:1<<20])
		},
			want: "the base image cannot be used: Truncated", log: true},
		"base image is larger than the disk": {change: func(_ *bench, o *build.Options) { o.Variables = map[string]string{"disk_size": "3"} },
			want: "has a disk of 4 MiB, and disk_size is 3: give --var disk_size=4 or more", log: true},
		"disk size is no number": {change: func(_ *bench, o *build.Options) { o.Variables = map[string]string{"disk_size": "12.5"} },
			want: `disk_size is a number of MiB up to 1048576, not "12.5"`},
		"disk size above the limit of imports": {change: func(_ *bench, o *build.Options) { o.Variables = map[string]string{"disk_size": "1048577"} },
			want: `not "1048577"`},
		"accelerator of another system": {change: func(_ *bench, o *build.Options) { o.Accelerator = "hvf" },
			is: build.ErrNoAccelerator, want: "--accelerator tcg", log: true},
		"accelerator does not work": {change: func(_ *bench, o *build.Options) { o.Accelerator = "kvm" }, is: build.ErrNoAccelerator, want: "--accelerator tcg", log: true},
		"step fails": {packer: failing("    qemu.node: Hit:1 http://10.0.2.2 bookworm", "==> qemu.node: capcat: error: no mirror has it"), is: build.ErrStep,
			want: `step "smoke test": a step failed in the guest: no mirror has it`, log: true},
		"step fails in silence": {packer: failing("    qemu.node: fetching", "==> qemu.node: curl: (7) Failed to connect"), is: build.ErrStep,
			want: `it gave no reason; its last words: "curl: (7) Failed to connect"`, log: true},
		"check fails": {packer: failing("==> qemu.node: not ok: swap is off", "==> qemu.node: capcat: error: 1 checks failed"),
			is: build.ErrStep, want: "not so: swap is off", log: true},
		"variable of another type": {packer: "/bin/cat <<'END'\nError: Invalid argument value for -var variable\n\n  on  line 0:\n  (source code not available)\n\n" +
			"The received arg value for memory is not compatible with the variable's type\nconstraint: a number is required.\n\n\n\n" +
			"==> Builds finished but no artifacts were created.\nEND\nexit 1", early: true,
			want: "Error: Invalid argument value for -var variable: The received arg value for memory is not compatible with the variable's type constraint: a number is required.", log: true},
		"value that Packer refuses": {packer: "/bin/cat <<'END'\nError: 1 error(s) decoding:\n\n* error decoding 'ssh_timeout': time: invalid duration \"xyz\"\n\n" +
			"  on machine.pkr.hcl line 17:\n  (source code not available)\n\n\n\n==> Wait completed after 3 microseconds\nEND\nexit 1", early: true,
			want: `Error: 1 error(s) decoding: * error decoding 'ssh_timeout': time: invalid duration "xyz" (log`, log: true},
		"QEMU does not start": {packer: "echo '2026/12/01 04:00:00 packer-builder-qemu plugin: Qemu stderr: qemu: could not load PC BIOS: none' >\"$PACKER_LOG_PATH\"\n" +
			"/bin/cat <<'END'\n==> qemu.node: Error launching VM: Qemu failed to start. Please run with PACKER_LOG=1 to get more info.\n" +
			"==> qemu.node: Deleting output directory...\nBuild 'qemu.node' errored after 24 seconds 590 milliseconds: Build was halted.\nEND\nexit 1", booting: true,
			want: "Error launching VM: Qemu failed to start. Please run with PACKER_LOG=1 to get more info.; qemu: could not load PC BIOS: none", log: true},
		"machine does not boot": {packer: "exit 1", booting: true, want: "did not come up so far that Packer could log in", log: true},
		"Packer makes garbage":  {packer: "/bin/mkdir -p \"$output\"; echo garbage >\"$output/node.qcow2\"; exit 0", want: "reading node.qcow2", log: true},
		"Packer makes nothing":  {packer: "exit 0", want: "node.qcow2", log: true},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.packerSays, b.booting, b.early = c.packer, c.booting, c.early
			if c.version != "" {
				b.version = c.version
			}
			b.install(t, c.missing...)
			o := b.options()
			if c.change != nil {
				if c.is == build.ErrNoAccelerator {
					write(t, filepath.Join(b.bin, "qemu-system-x86_64"), "#!/bin/sh\necho 'invalid accelerator' >&2; exit 1\n", 0o755)
				}
				c.change(b, &o)
			}
			_, _, err := run(t.Context(), o)
			if err == nil || !strings.Contains(err.Error(), c.want) || c.is != nil && !errors.Is(err, c.is) {
				t.Errorf("got %v, want %v with %q", err, c.is, c.want)
			}
			if strings.Contains(fmt.Sprint(err), "secret@") {
				t.Errorf("the error has a secret: %v", err)
			}
			var want []string
			if c.log {
				want = []string{"debian-12-kube-v1.36.3.log"}
			}
			if diff := cmp.Diff(want, b.left(t)); diff != "" {
				t.Errorf("left behind (-want +got):\n%s", diff)
			}
		})
	}
}

func TestBuildReplacesNothing(t *testing.T) {
	b := newBench(t)
	b.install(t)
	o := b.options()
	if err := os.Mkdir(b.out, 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(b.out, "debian-12-kube-v1.36.3.ova"), "precious", 0o644)
	if _, _, err := run(t.Context(), o); !errors.Is(err, build.ErrExists) {
		t.Errorf("got %v, want ErrExists", err)
	}
	if diff := cmp.Diff([]string{"debian-12-kube-v1.36.3.ova"}, b.left(t)); diff != "" {
		t.Error(diff)
	}
}

func TestStoppedBuildLeavesOnlyItsLog(t *testing.T) {
	b := newBench(t)
	b.packerSays = "trap 'echo stopping; exit 1' INT\n: >" + b.dir + "/running\nwhile :; do sleep 0.05; done"
	b.install(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	o := b.options()
	stopped := errors.New("enough")
	o.Report = func(e build.Event) {
		if e.Step == "smoke test" {
			cancel(stopped)
		}
	}
	_, err := build.Build(ctx, o)
	if !errors.Is(err, stopped) {
		t.Errorf("got %v, want it to be stopped", err)
	}
	if diff := cmp.Diff([]string{"debian-12-kube-v1.36.3.log"}, b.left(t)); diff != "" {
		t.Error(diff)
	}
}

func TestMirrorIsSeenFromTheGuest(t *testing.T) {
	asked := ""
	mirror := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { asked = r.URL.Path }))
	defer mirror.Close()
	b := newBench(t)
	b.install(t)
	o := b.options()
	o.PackagesFrom, o.Outputs = mirror.URL+"/m/", []string{"qcow2"}
	o.Variables = map[string]string{"image_source": "none"}
	if _, _, err := run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if want := "/m/dl.k8s.io/release/v1.36.3/bin/linux/amd64/kubelet.sha256"; asked != want {
		t.Errorf("asked for %s, want %s", asked, want)
	}
	arguments := strings.Split(read(t, filepath.Join(b.dir, "arguments")), "\n")
	port := mirror.URL[strings.LastIndexByte(mirror.URL, ':'):]
	for _, want := range []string{"packages_from=http://10.0.2.2" + port + "/m", "image_source=none", "accelerator=tcg", "kubernetes_version=v1.36.3"} {
		if !slices.Contains(arguments, want) {
			t.Errorf("Packer did not get %s: %q", want, arguments)
		}
	}
}

// The same disk and date give the same files, whenever and wherever they are made.
func TestSameDiskGivesTheSameFiles(t *testing.T) {
	files := func(created time.Time) map[string]string {
		b := newBench(t)
		b.install(t)
		o := b.options()
		o.Created = created
		if _, _, err := run(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		all := map[string]string{}
		for _, name := range b.left(t) {
			if !strings.HasSuffix(name, ".log") { // it tells of one run
				all[name] = read(t, filepath.Join(b.out, name))
			}
		}
		return all
	}
	date := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	dated, again, plain := files(date), files(date.In(time.FixedZone("east", 3600))), files(time.Time{})
	if len(dated) != 17 {
		t.Errorf("there are %d files: %q", len(dated), slices.Sorted(maps.Keys(dated)))
	}
	bill := "debian-12-kube-v1.36.3.spdx.json"
	for name, text := range dated {
		if again[name] != text {
			t.Errorf("%s is another one the second time", name)
		}
	}
	if !strings.Contains(dated[bill], `"created": "2026-07-01T12:00:00Z"`) {
		t.Error("the bill of materials does not bear the date")
	}
	for name, text := range files(time.Time{}) { // images need no date
		if plain[name] != text && name != bill {
			t.Errorf("%s is another one the second time, without a date", name)
		}
	}
}

// A build whose last step fails takes back the names that it gave.
func TestFilesGetTheirNamesTogether(t *testing.T) {
	b := newBench(t)
	b.install(t)
	o := b.options()
	o.Outputs = []string{"qcow2", "vhd"}
	o.Report = func(e build.Event) {
		if e.Step == "vhd" { // the names are free at the begin, and one is taken at the end
			if err := os.MkdirAll(filepath.Join(b.out, "debian-12-kube-v1.36.3.spdx.json", "full"), 0o755); err != nil {
				t.Error(err)
			}
		}
	}
	if _, err := build.Build(t.Context(), o); err == nil {
		t.Error("the build succeeded")
	}
	if diff := cmp.Diff([]string{"debian-12-kube-v1.36.3.log", "debian-12-kube-v1.36.3.spdx.json"}, b.left(t)); diff != "" {
		t.Errorf("left behind (-want +got):\n%s", diff)
	}
}

func TestOutputsAreMadeOnce(t *testing.T) {
	b := newBench(t)
	b.install(t)
	o := b.options()
	o.Outputs = []string{"vhd", "qcow2", "vhd"}
	r, _, err := run(t.Context(), o)
	if err != nil || len(r.Images) != 2 {
		t.Errorf("got %v, %v", r.Images, err)
	}
}

// A name that somebody else takes while the machine runs is left alone.
func TestNameThatIsTakenMeanwhile(t *testing.T) {
	b := newBench(t)
	b.install(t)
	o := b.options()
	o.Outputs = []string{"qcow2", "vhd"}
	o.Report = func(e build.Event) {
		if e.Step == "vhd" {
			write(t, filepath.Join(b.out, "debian-12-kube-v1.36.3.vhd"), "precious", 0o644)
		}
	}
	if r, err := build.Build(t.Context(), o); !errors.Is(err, build.ErrExists) || r.EntryPath != "" {
		t.Errorf("got %+v, %v, want nothing but ErrExists", r, err)
	}
	if diff := cmp.Diff([]string{"debian-12-kube-v1.36.3.log", "debian-12-kube-v1.36.3.vhd"}, b.left(t)); diff != "" {
		t.Errorf("left behind (-want +got):\n%s", diff)
	}
	if got := read(t, filepath.Join(b.out, "debian-12-kube-v1.36.3.vhd")); got != "precious" {
		t.Error("the file was replaced")
	}
}

func TestNoSpaceHasItsCode(t *testing.T) {
	b := newBench(t)
	b.install(t)
	o := b.options()
	o.MinFreeBytes = 1 << 60
	if _, _, err := run(t.Context(), o); artifact.CodeOf(err) != artifact.NoSpace {
		t.Errorf("got %v, want the code %s", err, artifact.NoSpace)
	}
}
