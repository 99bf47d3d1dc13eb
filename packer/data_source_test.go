package packer

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// machine is what the script looks at. Its zero value is a machine that says nothing of itself.
type machine struct {
	vendor, product, serial string
	commandLine             string
	volumes                 string // what blkid says
	guestinfo               string // what vmware-rpctool says
	files                   map[string]string
}

// lay makes the machine below a folder, and a folder of programs.
func (m machine) lay(t *testing.T) (root, bin string) {
	t.Helper()
	root, bin = t.TempDir(), t.TempDir()
	files := map[string]string{
		"sys/class/dmi/id/sys_vendor":     m.vendor + "\n",
		"sys/class/dmi/id/product_name":   m.product + "\n",
		"sys/class/dmi/id/product_serial": m.serial + "\n",
		"proc/cmdline":                    "root=LABEL=root ro " + m.commandLine + "\n",
	}
	for name, content := range m.files {
		files[name] = content
	}
	for name, content := range files {
		write(t, filepath.Join(root, name), content, 0o644)
	}
	write(t, filepath.Join(bin, "blkid"), "#!/bin/sh\ncat <<'END'\n"+m.volumes+"\nEND\n", 0o755)
	if m.guestinfo != "" {
		write(t, filepath.Join(bin, "vmware-rpctool"), "#!/bin/sh\n"+m.guestinfo+"\n", 0o755)
	}
	return root, bin
}

func write(t *testing.T, path, content string, mode fs.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), mode); err != nil {
		t.Fatal(err)
	}
}

// Below VMware and XenServer the firmware does not name CloudStack, so its data server must be the only source; everywhere else, and where
// another source has something to say, the list of the image stays.
func TestDataSource(t *testing.T) {
	const only = "datasource_list: [CloudStack]\n"
	disk := "DEVNAME=/dev/sda1\nLABEL=root\nTYPE=ext4\n"
	tests := map[string]struct {
		machine machine
		want    string
	}{
		"CloudStack's KVM":                       {machine{vendor: "Apache Software Foundation", product: "CloudStack KVM Hypervisor"}, ""},
		"a KVM of somebody else":                 {machine{vendor: "QEMU", product: "Standard PC (i440FX + PIIX, 1996)"}, ""},
		"no firmware":                            {machine{}, ""},
		"XenServer":                              {machine{vendor: "Xen", product: "HVM domU", volumes: disk}, only},
		"VMware":                                 {machine{vendor: "VMware, Inc.", product: "VMware Virtual Platform", volumes: disk}, only},
		"VMware with EFI":                        {machine{vendor: "VMware, Inc.", product: "VMware7,1", volumes: disk}, only},
		"XenServer that names CloudStack":        {machine{vendor: "Xen", product: "CloudStack HVM", volumes: disk}, ""},
		"XenServer, with a ConfigDrive":          {machine{vendor: "Xen", product: "HVM domU", volumes: disk + "\nDEVNAME=/dev/sr0\nLABEL=config-2\nTYPE=iso9660"}, ""},
		"VMware, with a ConfigDrive in capitals": {machine{vendor: "VMware, Inc.", volumes: "DEVNAME=/dev/sr0\nLABEL=CONFIG-2\n" + disk}, ""},
		"XenServer, with NoCloud":                {machine{vendor: "Xen", volumes: "DEVNAME=/dev/sr0\nLABEL_FATBOOT=CIDATA\nLABEL=CIDATA"}, ""},
		"XenServer, a volume of a like name":     {machine{vendor: "Xen", volumes: "DEVNAME=/dev/sdb\nLABEL=my-config-2"}, only},
		"XenServer, told by the command line":    {machine{vendor: "Xen", commandLine: "ds=nocloud;s=http://10.0.0.1/ quiet"}, ""},
		"XenServer, told in the old way":         {machine{vendor: "Xen", commandLine: "quiet ci.datasource=NoCloud"}, ""},
		"XenServer, a word that ends like it":    {machine{vendor: "Xen", commandLine: "rounds=1"}, only},
		"XenServer, told by the serial number":   {machine{vendor: "Xen", serial: "ds=nocloud;h=node"}, ""},
		"XenServer, a seed":                      {machine{vendor: "Xen", files: map[string]string{"var/lib/cloud/seed/nocloud/meta-data": "{}"}}, ""},
		"VMware, data of its own":                {machine{vendor: "VMware, Inc.", guestinfo: `[ "$1" = "info-get guestinfo.userdata" ] && echo I2Nsb3Vk`}, ""},
		"VMware, no data of its own":             {machine{vendor: "VMware, Inc.", guestinfo: "echo No value found; exit 1"}, only},
		"VMware, its data taken already":         {machine{vendor: "VMware, Inc.", guestinfo: "echo ---"}, only},
		"XenServer does not ask VMware":          {machine{vendor: "Xen", guestinfo: "echo something"}, only},
		"somebody decided already":               {machine{vendor: "Xen", files: map[string]string{"run/cloud-init/cloud.cfg": "datasource_list: [NoCloud]\n"}}, "datasource_list: [NoCloud]\n"},
	}
	script, err := fs.ReadFile(Recipes(), "provision/data-source.sh")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "data-source")
	write(t, file, string(script), 0o755)
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			root, bin := c.machine.lay(t)
			cmd := exec.CommandContext(t.Context(), "sh", file, root)
			cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"))
			if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
				t.Errorf("%v, and it said %q", err, out)
			}
			got, err := os.ReadFile(filepath.Join(root, "run/cloud-init/cloud.cfg"))
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				t.Fatal(err)
			}
			if string(got) != c.want {
				t.Errorf("the configuration is %q, want %q", got, c.want)
			}
		})
	}
}
