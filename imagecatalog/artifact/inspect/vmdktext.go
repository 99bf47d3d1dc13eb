package inspect

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/capcat/capcat/imagecatalog/artifact"
)

const (
	noParent      = "ffffffff"
	maxExtents    = 64
	maxLines      = 10_000
	maxTextSniff  = 1 << 20
	unreadableNum = 0
)

// vmdkDescriptor is what the text of a descriptor says about other files.
type vmdkDescriptor struct {
	valid      bool
	createType string
	parentCID  string
	parentHint string
	encrypted  bool
	extents    []extent
	tooMany    bool
}

// extent is one line of the extent description.
type extent struct {
	sectors uint64
	kind    string
	file    string
}

// outside says whether the name leads to another directory.
func (e extent) outside() bool {
	return strings.ContainsAny(e.file, `/\:`) || strings.Contains(e.file, "..")
}

func (d vmdkDescriptor) hasParent() bool {
	return d.parentHint != "" || d.parentCID != "" && !strings.EqualFold(d.parentCID, noParent)
}

// parseDescriptor reads the text up to the first NUL.
func parseDescriptor(p []byte) vmdkDescriptor {
	text, _, _ := bytes.Cut(p, []byte{0})
	d := vmdkDescriptor{valid: isDescriptor(text)}
	lines := 0
	for line := range strings.Lines(string(text)) {
		if lines++; lines > maxLines {
			d.tooMany = true
			break
		}
		d.line(strings.TrimSpace(line))
	}
	return d
}

func (d *vmdkDescriptor) line(line string) {
	if line == "" || line[0] == '#' {
		return
	}
	switch word, _, _ := strings.Cut(line, " "); strings.ToUpper(word) {
	case "RW", "RDONLY", "NOACCESS":
		if len(d.extents) >= maxExtents {
			d.tooMany = true
			return
		}
		d.extents = append(d.extents, parseExtent(line))
		return
	}
	key, value, _ := strings.Cut(line, "=")
	value = strings.Trim(strings.TrimSpace(value), `"`)
	switch key = strings.ToLower(strings.TrimSpace(key)); {
	case key == "createtype":
		d.createType = value
	case key == "parentcid":
		d.parentCID = value
	case key == "parentfilenamehint":
		d.parentHint = value
	case strings.HasPrefix(key, "encryption."):
		d.encrypted = true
	}
}

// parseExtent reads `RW 4096 SPARSE "name" 0`; a number that cannot be read counts as 0.
func parseExtent(line string) extent {
	var e extent
	words := strings.Fields(line)
	if len(words) > 1 {
		n, err := strconv.ParseUint(words[1], 10, 54)
		if err != nil {
			n = unreadableNum
		}
		e.sectors = n
	}
	if len(words) > 2 {
		e.kind = strings.ToUpper(words[2])
	}
	if _, rest, found := strings.Cut(line, `"`); found {
		e.file, _, _ = strings.Cut(rest, `"`)
	}
	return e
}

// descriptorOnly judges a text descriptor: whatever it says, its data lies in other files.
func (x *inspection) descriptorOnly() error {
	p, err := x.in.at(0, maxTextSniff)
	if err != nil {
		return err
	}
	d := parseDescriptor(p)
	sectors := uint64(0)
	for _, e := range d.extents {
		sectors += e.sectors
	}
	x.report.VirtualSizeBytes = int64(min(mulSat(sectors, sectorSize), 1<<63-1))
	name := ""
	if len(d.extents) > 0 {
		name = d.extents[0].file
	}
	x.report.reject(artifact.DescriptorOnlyVMDK, "the VMDK is a text descriptor of kind %.32q; its data lies in %.80q and is not here", d.createType, name)
	return nil
}
