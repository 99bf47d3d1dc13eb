package inspect

import (
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/capcat/capcat/imagecatalog/artifact"
)

// ova is an appliance: the archive and what its descriptor says.
type ova struct {
	*tarWalk
	desc *ovf
	// referenced are the names of the descriptor and of all members it refers to.
	referenced map[string]bool
}

// ova inspects a tar archive with an OVF descriptor. Faults of the archive come first, then those of the descriptor, of
// the manifest and of the disk.
func (x *inspection) ova() error {
	o := &ova{tarWalk: &tarWalk{inspection: x}, referenced: map[string]bool{}}
	if err := o.walk(); err != nil {
		return err
	}
	if ok, err := o.descriptor(); !ok {
		return err
	}
	o.judgeFiles()
	if err := o.isos(); err != nil {
		return err
	}
	capacity, disk, ok := o.judgeDisks()
	o.judgeGuest()
	o.judgeOthers()
	if err := o.manifest(); err != nil {
		return err
	}
	if _, signed := o.bySuffix(".cert"); signed {
		o.report.warn(artifact.SignedNotVerified, "the archive is signed; the signature is not verified")
	}
	if !ok {
		return nil
	}
	return o.disk(disk, capacity)
}

// byName finds a member by the name that a descriptor or manifest uses.
func (o *ova) byName(name string) (tarMember, bool) {
	return o.find(func(m tarMember) bool { return m.name == path.Clean(name) })
}

func (o *ova) bySuffix(suffix string) (tarMember, bool) {
	return o.find(func(m tarMember) bool { return m.suffix() == suffix })
}

func (o *ova) find(fits func(tarMember) bool) (tarMember, bool) {
	i := slices.IndexFunc(o.members, fits)
	if i < 0 {
		return tarMember{}, false
	}
	return o.members[i], true
}

// descriptor finds and reads the only descriptor; false when there is nothing to go on with.
func (o *ova) descriptor() (bool, error) {
	m, found := o.bySuffix(".ovf")
	if !found {
		if !o.report.rejected() {
			o.report.Format = ""
			o.report.reject(artifact.FormatMismatch, "the content is a tar archive without an OVF descriptor, not an OVA")
		}
		return false, nil
	}
	if again, _ := o.find(func(other tarMember) bool {
		return other.suffix() == ".ovf" && other.at != m.at && other.name != m.name
	}); again.name != "" {
		o.report.reject(artifact.MultipleOVF, "the archive holds two descriptors, %.80q and %.80q", m.name, again.name)
	}
	if path.Clean(o.first) != m.name {
		o.report.warn(artifact.OVFNotFirst, "the descriptor %.80q is not the first member", m.name)
	}
	if m.size > ovfMaxSize {
		o.report.reject(artifact.BadOVF, "the descriptor is %d bytes long; %d are the most", m.size, ovfMaxSize)
		return false, nil
	}
	text, err := o.in.at(m.at, int(m.size))
	if err != nil {
		return false, err
	}
	o.referenced[m.name] = true
	o.desc, err = parseOVF(text)
	if err != nil {
		o.report.reject(artifact.BadOVF, "the descriptor %.80q cannot be read: %.200s", m.name, err.Error())
		return false, nil
	}
	return true, nil
}

// judgeFiles checks every reference of the descriptor.
func (o *ova) judgeFiles() {
	ids := map[string]bool{}
	for _, f := range o.desc.files {
		switch {
		case f.id == "" || ids[f.id]:
			o.report.reject(artifact.BadOVF, "the descriptor has two files with the id %.40q, or one without", f.id)
		case strings.Contains(f.href, "://"):
			o.report.reject(artifact.ExternalDataFile, "the descriptor refers to a file outside the archive")
		case escapes(strings.ReplaceAll(f.href, `\`, "/")), escapes(strings.ReplaceAll(unescaped(f.href), `\`, "/")):
			o.report.reject(artifact.PathTraversal, "the descriptor refers to %.80q, which leaves the directory", f.href)
		default:
			o.judgeFile(f)
		}
		ids[f.id] = true
	}
}

func (o *ova) judgeFile(f ovfFile) {
	m, found := o.target(f.href)
	if !found || f.href == "" {
		o.report.reject(artifact.MissingDisk, "the descriptor refers to %.80q, which is not in the archive", f.href)
		return
	}
	o.referenced[m.name] = true
	if f.size != "" && f.size != strconv.FormatInt(m.size, 10) {
		o.report.reject(artifact.FileSizeMismatch, "member %.80q has %d bytes, the descriptor says %.20q", m.name, m.size, f.size)
	}
}

// target is the member that a reference means: its exact name, else the name that it stands for as a URI reference, in
// which exporters write a blank as %20.
func (o *ova) target(href string) (tarMember, bool) {
	if m, found := o.byName(href); found {
		return m, true
	}
	return o.byName(unescaped(href))
}

// unescaped undoes the percent encoding of a reference; one that is not encoded stays as it is.
func unescaped(href string) string {
	if plain, err := url.PathUnescape(href); err == nil {
		return plain
	}
	return href
}

// isos looks for ISO images by name and by content, so that none hides behind another name.
func (o *ova) isos() error {
	for _, m := range o.members {
		magic, err := o.in.part(m.at, m.size).at(isoMagicAt, len(isoMagic))
		if err != nil {
			return err
		}
		if m.suffix() == ".iso" || string(magic) == isoMagic {
			o.report.reject(artifact.IsoInside, "member %.80q is an ISO image, which breaks the deployment", m.name)
		}
	}
	return nil
}

// judgeDisks finds the only disk with its capacity; false when there is none to look at.
func (o *ova) judgeDisks() (uint64, tarMember, bool) {
	total := uint64(0)
	for _, d := range o.desc.disks {
		n, err := d.bytes()
		if err != nil {
			o.report.reject(artifact.BadOVF, "disk %.40q: %s", d.id, err)
		}
		total = addSat(total, n)
	}
	fits := o.virtualSize(total)
	o.judgeDevices()
	if len(o.desc.disks) == 0 {
		o.report.reject(artifact.MissingDisk, "the descriptor declares no disk")
		return 0, tarMember{}, false
	}
	if len(o.desc.disks) > 1 {
		o.report.reject(artifact.MultiDiskOVA, "the descriptor declares %d disks; one is the number", len(o.desc.disks))
		return 0, tarMember{}, false
	}
	d := o.desc.disks[0]
	if d.parentRef != "" {
		o.report.reject(artifact.ParentHint, "disk %.40q needs a parent", d.id)
	}
	m, found := o.fileOf(d.fileRef)
	if !found {
		o.report.reject(artifact.MissingDisk, "disk %.40q refers to the file id %.40q, which the archive does not hold", d.id, d.fileRef)
	}
	return total, m, found && fits
}

// fileOf resolves a file id to a member.
func (o *ova) fileOf(id string) (tarMember, bool) {
	i := slices.IndexFunc(o.desc.files, func(f ovfFile) bool { return f.id == id && id != "" })
	if i < 0 {
		return tarMember{}, false
	}
	return o.target(o.desc.files[i].href)
}

// judgeDevices checks that the virtual disks of the machine are declared.
func (o *ova) judgeDevices() {
	if o.desc.systems != 1 {
		o.report.reject(artifact.BadOVF, "the descriptor declares %d virtual systems; one is the number", o.desc.systems)
	}
	for _, item := range o.desc.items {
		if _, file, isFile := strings.Cut(item.resource, "/file/"); isFile && (item.kind == itemCD || item.kind == itemDVD) {
			o.report.reject(artifact.IsoInside, "a CD drive uses file %.40q", file)
		}
		if item.kind != itemDisk {
			continue
		}
		_, id, isDisk := strings.Cut(item.resource, "/disk/")
		if isDisk && !slices.ContainsFunc(o.desc.disks, func(d ovfDisk) bool { return d.id == id }) {
			o.report.reject(artifact.MissingDisk, "a device uses disk %.40q, which the descriptor does not declare", id)
		}
	}
}

// judgeGuest looks at the guest OS.
func (o *ova) judgeGuest() {
	d := o.desc
	switch {
	case !d.osSeen:
		o.report.warn(artifact.UnknownGuestOS, "the descriptor names no guest OS")
	case !knownCIM(d.osID):
		o.report.warn(artifact.UnknownGuestOS, "the guest OS id %.40q (%.40q) is not a known one", d.osID, d.osType)
	case d.osType != "" && !knownVMware(d.osType):
		o.report.warn(artifact.UnknownGuestOS, "the guest OS type %.40q is not a known one", d.osType)
	}
}

// judgeOthers looks at members that nothing refers to.
func (o *ova) judgeOthers() {
	for _, m := range o.members {
		switch {
		case o.referenced[m.name], m.suffix() == ".ovf", m.suffix() == ".mf", m.suffix() == ".cert", m.suffix() == ".iso":
		case slices.Contains([]string{".vmdk", ".vhd", ".vhdx", ".qcow2", ".vdi"}, m.suffix()):
			o.report.reject(artifact.MultiDiskOVA, "the archive holds the disk %.80q, to which the descriptor does not refer", m.name)
		default:
			o.report.warn(artifact.UnreferencedFile, "the descriptor does not refer to member %.80q", m.name)
		}
	}
}

// disk inspects the disk and compares its capacity with the descriptor.
func (o *ova) disk(m tarMember, capacity uint64) error {
	inner := &inspection{report: &Report{}, in: o.in.part(m.at, m.size), maxVirtual: o.maxVirtual, inOVA: true}
	if err := inner.run(artifact.VMDK); err != nil {
		return err
	}
	for _, f := range inner.report.Findings {
		f.Message = "disk " + strconv.Quote(m.name[:min(len(m.name), 80)]) + ": " + f.Message
		o.report.add(f)
	}
	if have := inner.report.VirtualSizeBytes; have > 0 && uint64(have) != capacity {
		o.report.reject(artifact.CapacityMismatch, "the descriptor says %d bytes for the disk, the VMDK header %d", capacity, have)
	}
	return nil
}
