package build_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/capcat/capcat/imagecatalog/artifact/disk"
	"github.com/capcat/capcat/imagecatalog/artifact/qcow2"
	"github.com/capcat/capcat/packer/build"
)

const version = "v1.36.3"

// contents is what the recipe would list.
const contents = "system\tdebian-12\t12\tamd64\t\t0\n" +
	"program\tkubelet\tv1.36.3\tamd64\tApache-2.0\t84426914\n" +
	"image\tregistry.k8s.io/pause\t3.10.2\tamd64\t\t0\n" +
	"deb\tbash\t5.2.15-2+b9\tamd64\tGPL-3+\t7000000\n" +
	"deb\tzlib1g\t1:1.2.13\tamd64\tZlib\t170000\n" +
	"deb\tperl-base\t5.36\tamd64\tGPL-1+ or Artistic\t1\n" +
	"deb\todd\t1\tall\tMade-up\t1\n"

// bench is a folder with programs that behave like the real ones as far as a build looks, and nothing else in the path.
type bench struct {
	dir, bin, out string
	packerSays    string // what "packer build" does after the machine's steps; shell
	booting       bool   // it says so before the login
	early         bool   // and before the machine is started
	version       string
}

func newBench(t *testing.T) *bench {
	t.Helper()
	dir := t.TempDir()
	b := &bench{dir: dir, bin: filepath.Join(dir, "bin"), out: filepath.Join(dir, "out"), version: "1.6.6"}
	for _, d := range []string{b.bin, filepath.Join(dir, "cache")} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	content := bytes.Repeat([]byte("a node's disk. "), 1<<16)
	raw := append(content, make([]byte, 4<<20-len(content))...)
	img, err := disk.Raw(bytes.NewReader(raw), int64(len(raw)))
	if err != nil {
		t.Fatal(err)
	}
	var image bytes.Buffer
	if err := qcow2.Write(t.Context(), &image, img); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "node.qcow2"), image.String(), 0o644)
	write(t, filepath.Join(dir, "base.qcow2"), image.String(), 0o644)
	write(t, filepath.Join(dir, "contents.tsv"), contents, 0o644)
	t.Setenv("PATH", b.bin)
	return b
}

// install writes the programs, as far as they are not named as missing.
func (b *bench) install(t *testing.T, missing ...string) {
	t.Helper()
	programs := map[string]string{
		"qemu-system-x86_64": "echo 'Linux version 6'; echo 'Run /init as init process'; exec sleep 60",
		"qemu-img":           "exit 0",
		"xorriso":            "exit 0",
		"packer":             b.packer(),
		"sleep":              `exec /bin/sleep "$@"`,
	}
	for _, name := range missing {
		delete(programs, name)
	}
	for name, script := range programs {
		write(t, filepath.Join(b.bin, name), "#!/bin/sh\n"+script+"\n", 0o755)
	}
}

func (b *bench) packer() string {
	early, first := ":", ":"
	if b.booting {
		early = b.packerSays
	}
	if b.early {
		first = b.packerSays
	}
	return fmt.Sprintf(`
case "$1" in
version) echo "Packer v%[1]s"; exit ;;
plugins) exit ;;
esac
printf '%%s\n' "$@" >%[2]s/arguments
for argument; do
	case $argument in
	output=*) output=${argument#output=} ;;
	esac
done
%[5]s
echo '==> qemu.node: Starting VM, booting disk image'
%[4]s
echo '==> qemu.node: Connected to SSH!'
for step in packages kubernetes 'smoke test'; do echo "    qemu.node: capcat: step: $step"; done
%[3]s
echo '==> qemu.node: Gracefully halting virtual machine...'
/bin/mkdir -p "$output"
/bin/cp %[2]s/node.qcow2 "$output/node.qcow2"
/bin/cp %[2]s/contents.tsv "$output.contents.tsv"
`, b.version, b.dir, b.packerSays, early, first)
}

func (b *bench) options() build.Options {
	return build.Options{
		OS: "debian-12", KubernetesVersion: version, Dir: b.out, BaseImage: filepath.Join(b.dir, "base.qcow2"), Accelerator: "tcg",
		Cache: filepath.Join(b.dir, "cache"), MinFreeBytes: 1 << 20,
	}
}

// file writes a file and gives its path.
func (b *bench) file(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(b.dir, name)
	write(t, path, text, 0o644)
	return path
}

// left are the names in the folder for the files.
func (b *bench) left(t *testing.T) []string {
	t.Helper()
	entries, err := os.ReadDir(b.out)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func write(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// run builds and gives the steps that were reported.
func run(ctx context.Context, o build.Options) (build.Result, []string, error) {
	var steps []string
	o.Report = func(e build.Event) {
		if e.Step != "" {
			steps = append(steps, e.Step)
		} else {
			steps = append(steps, "("+strings.SplitN(e.Note, " (", 2)[0]+")")
		}
	}
	r, err := build.Build(ctx, o)
	return r, steps, err
}
