package ova_test

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/capcat/capcat/imagecatalog/artifact/disk"
	"github.com/capcat/capcat/imagecatalog/artifact/inspect"
	"github.com/capcat/capcat/imagecatalog/artifact/ova"
	"github.com/capcat/capcat/imagecatalog/internal/islands"
)

const mib = 1 << 20

func write(t *testing.T, d disk.Image, o ova.Options) []byte {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "node.ova"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := ova.Write(t.Context(), f, d, o); err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(f.Name())
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// members unpacks an archive and gives the names in order.
func members(t *testing.T, file []byte) ([]string, map[string][]byte) {
	t.Helper()
	var names []string
	data := map[string][]byte{}
	for r := tar.NewReader(bytes.NewReader(file)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return names, data
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Format != tar.FormatUSTAR || h.Typeflag != tar.TypeReg || h.Mode != 0o644 {
			t.Errorf("%s: format %s, type %c, mode %o", h.Name, h.Format, h.Typeflag, h.Mode)
		}
		names = append(names, h.Name)
		if data[h.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
}

func TestWrite(t *testing.T) {
	for name, c := range map[string]struct {
		disk islands.Disk
		o    ova.Options
	}{
		"no content": {islands.New(10*mib, 0), ova.Options{Machine: ova.Machine{Name: "node"}}},
		"one sector": {islands.New(512, 512, 0), ova.Options{Machine: ova.Machine{Name: "n"}}},
		"islands": {islands.New(70*mib, 5000, 0, 40*mib), ova.Options{Machine: ova.Machine{
			Name: "ubuntu-24.04-v1.33.1+k3s1", Guest: ova.GuestFor("ubuntu-24.04"), CPUs: 4, MemoryMiB: 8192, EFI: true,
		}, Created: time.Unix(1700000000, 0)}},
	} {
		t.Run(name, func(t *testing.T) {
			file := write(t, c.disk, c.o)
			stem := c.o.Machine.Name
			names, data := members(t, file)
			if diff := cmp.Diff([]string{stem + ".ovf", stem + ".mf", stem + "-disk1.vmdk"}, names); diff != "" {
				t.Fatal(diff)
			}
			want := fmt.Sprintf("SHA256(%s)= %x\nSHA256(%s)= %x\n", names[0], sha256.Sum256(data[names[0]]), names[2], sha256.Sum256(data[names[2]]))
			if diff := cmp.Diff(want, string(data[names[1]])); diff != "" {
				t.Errorf("manifest: %s", diff)
			}
			report, err := inspect.Inspect(t.Context(), bytes.NewReader(file), int64(len(file)), inspect.Options{Declared: "OVA", Hypervisor: "VMware"})
			if err != nil {
				t.Fatal(err)
			}
			if report.Verdict != inspect.Accept || report.VirtualSizeBytes != ova.VirtualSize(c.disk.Virtual) {
				t.Errorf("inspected as %+v", report)
			}
			if !bytes.Equal(file, write(t, c.disk, c.o)) {
				t.Error("the same disk gives two files")
			}
			if !bytes.HasSuffix(file, make([]byte, 1024)) || len(file)%512 != 0 {
				t.Error("the archive has no end")
			}
		})
	}
}

// node is an element with everything in it.
type node struct {
	XMLName xml.Name
	Attrs   []xml.Attr `xml:",any,attr"`
	Nodes   []node     `xml:",any"`
	Text    string     `xml:",chardata"`
}

const (
	ovfSpace = "http://schemas.dmtf.org/ovf/envelope/1"
	cimSpace = "http://schemas.dmtf.org/wbem/wscim/1/cim-schema/2/CIM_"
)

func (n node) child(t *testing.T, names ...string) node {
	t.Helper()
	for _, name := range names {
		i := slices.IndexFunc(n.Nodes, func(c node) bool { return c.XMLName.Local == name })
		if i < 0 {
			t.Fatalf("<%s> has no <%s>", n.XMLName.Local, name)
		}
		n = n.Nodes[i]
	}
	return n
}

func (n node) attr(space, name string) string {
	for _, a := range n.Attrs {
		if a.Name.Local == name && a.Name.Space == space {
			return a.Value
		}
	}
	return ""
}

func descriptor(t *testing.T, m ova.Machine) node {
	t.Helper()
	names, data := members(t, write(t, islands.New(70*mib, 5000, 0, 40*mib), ova.Options{Machine: m}))
	var envelope node
	d := xml.NewDecoder(bytes.NewReader(data[names[0]]))
	d.Strict = true
	if err := d.Decode(&envelope); err != nil {
		t.Fatal(err)
	}
	if size := fmt.Sprint(len(data[names[2]])); envelope.child(t, "References", "File").attr(ovfSpace, "size") != size {
		t.Errorf("the size of the file is not %s", size)
	}
	return envelope
}

// TestDescriptor checks what stands in the descriptor; that it fits the schema is another test's.
func TestDescriptor(t *testing.T) {
	e := descriptor(t, ova.Machine{Name: "node", Guest: ova.GuestFor("debian-12"), EFI: true})
	system := e.child(t, "VirtualSystem")
	d := e.child(t, "DiskSection", "Disk")
	for name, want := range map[string]string{
		"capacity": fmt.Sprint(70 * mib), "capacityAllocationUnits": "byte", "fileRef": "file1", "diskId": "vmdisk1", "populatedSize": fmt.Sprint(2 * 64 << 10),
		"format": "http://www.vmware.com/interfaces/specifications/vmdk.html#streamOptimized",
	} {
		if got := d.attr(ovfSpace, name); got != want {
			t.Errorf("disk: %s is %q, want %q", name, got, want)
		}
	}
	os := system.child(t, "OperatingSystemSection")
	if os.attr(ovfSpace, "id") != "96" || os.attr("http://www.vmware.com/schema/ovf", "osType") != "debian10_64Guest" {
		t.Errorf("guest %v", os.Attrs)
	}
	hardware := system.child(t, "VirtualHardwareSection")
	if last := hardware.Nodes[len(hardware.Nodes)-1]; last.XMLName.Local != "Config" || last.attr("http://www.vmware.com/schema/ovf", "value") != "efi" {
		t.Errorf("no firmware: %v", last)
	}
	checkItems(t, hardware)
}

func checkItems(t *testing.T, hardware node) {
	t.Helper()
	ids, kinds := map[string]string{}, []string{}
	for _, item := range hardware.Nodes {
		if item.XMLName.Local != "Item" {
			continue
		}
		id, kind := item.child(t, "InstanceID").Text, item.child(t, "ResourceType").Text
		if ids[id] != "" {
			t.Errorf("two devices have the id %s", id)
		}
		ids[id], kinds = kind, append(kinds, kind)
		if kind == "17" && (ids[item.child(t, "Parent").Text] != "6" || item.child(t, "HostResource").Text != "ovf:/disk/vmdisk1") {
			t.Errorf("the disk has no controller or no content")
		}
	}
	if diff := cmp.Diff([]string{"3", "4", "6", "17", "10"}, kinds); diff != "" {
		t.Errorf("devices: %s", diff)
	}
}

func TestGuests(t *testing.T) {
	for os, want := range map[string]string{
		"ubuntu-22.04": "94 ubuntu64Guest", "debian-13": "96 debian10_64Guest", "rocky-9": "80 rhel7_64Guest",
		"flatcar": "101 otherLinux64Guest", "": "101 otherLinux64Guest", "Ubuntu-24.04": "94 ubuntu64Guest",
	} {
		if g := ova.GuestFor(os); fmt.Sprint(g.CIM, " ", g.VMware) != want || g.Description == "" {
			t.Errorf("%q is %+v, want %s", os, g, want)
		}
	}
}

func TestRefused(t *testing.T) {
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for name, c := range map[string]struct {
		ctx  context.Context
		m    ova.Machine
		want string
	}{
		"cancelled":         {cancelled, ova.Machine{Name: "node"}, "context canceled"},
		"no name":           {t.Context(), ova.Machine{}, "cannot be the name"},
		"path":              {t.Context(), ova.Machine{Name: "a/b"}, "cannot be the name"},
		"markup":            {t.Context(), ova.Machine{Name: `a"><b`}, "cannot be the name"},
		"name too long":     {t.Context(), ova.Machine{Name: strings.Repeat("n", 81)}, "cannot be the name"},
		"negative":          {t.Context(), ova.Machine{Name: "node", CPUs: -1}, "less than no"},
		"guest half named":  {t.Context(), ova.Machine{Name: "node", Guest: ova.Guest{CIM: 94}}, "a number and an id"},
		"guest out of list": {t.Context(), ova.Machine{Name: "node", Guest: ova.Guest{CIM: -1, VMware: "x"}}, "a number and an id"},
	} {
		t.Run(name, func(t *testing.T) {
			f, err := os.Create(filepath.Join(t.TempDir(), "node.ova"))
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			err = ova.Write(c.ctx, f, islands.New(70*mib, 10, 0), ova.Options{Machine: c.m})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}
