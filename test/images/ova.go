package images

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	_ "embed"
	"fmt"
	"io"
	"text/template"
	"time"
)

//go:embed machine.ovf
var ovfText string

// OVA writes an appliance of one machine with one streamOptimized disk: description, manifest, disk, in this order. The name
// is that of the machine. VirtualSize is in bytes, a multiple of 64 KiB. The compressed disk is held in memory.
func OVA(w io.Writer, name string, virtualSize int64, content Content) error {
	var disk bytes.Buffer
	if err := VMDK(&disk, virtualSize, content); err != nil {
		return err
	}
	description, err := describe(name, virtualSize, disk.Len())
	if err != nil {
		return fmt.Errorf("describing OVA: %w", err)
	}
	manifest := fmt.Sprintf("SHA256(%s.ovf)= %x\nSHA256(%s-disk1.vmdk)= %x\n",
		name, sha256.Sum256(description), name, sha256.Sum256(disk.Bytes()))
	t := tar.NewWriter(w)
	for _, f := range []struct {
		name string
		data []byte
	}{{name + ".ovf", description}, {name + ".mf", []byte(manifest)}, {name + "-disk1.vmdk", disk.Bytes()}} {
		h := tar.Header{Name: f.name, Size: int64(len(f.data)), Mode: 0o644, ModTime: time.Unix(vhdMade, 0), Format: tar.FormatUSTAR}
		if err := t.WriteHeader(&h); err != nil {
			return fmt.Errorf("writing OVA: %w", err)
		}
		if _, err := t.Write(f.data); err != nil {
			return fmt.Errorf("writing OVA: %w", err)
		}
	}
	return t.Close()
}

func describe(name string, virtualSize int64, diskSize int) ([]byte, error) {
	t, err := template.New("ovf").Parse(ovfText)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = t.Execute(&b, map[string]any{"Name": name, "Capacity": virtualSize, "DiskSize": diskSize})
	return b.Bytes(), err
}
