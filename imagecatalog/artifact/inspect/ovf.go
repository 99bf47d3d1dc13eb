package inspect

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

const (
	ovfMaxSize   = 4 << 20
	ovfMaxDepth  = 64
	ovfMaxTokens = 200_000
	ovfMaxItems  = 4096

	ovfNamespace  = "http://schemas.dmtf.org/ovf/envelope/"
	ovfNamespace0 = "http://www.vmware.com/schema/ovf/1/envelope"
	vmwNamespace  = "http://www.vmware.com/schema/ovf"

	itemCD   = "15"
	itemDVD  = "16"
	itemDisk = "17"
)

// ovf is what a descriptor says about files, disks and the guest.
type ovf struct {
	files    []ovfFile
	disks    []ovfDisk
	items    []ovfItem
	systems  int
	osSeen   bool
	osID     string
	osType   string
	complete bool
}

type ovfFile struct{ id, href, size string }

type ovfDisk struct{ id, capacity, units, fileRef, parentRef string }

// ovfItem is a virtual device.
type ovfItem struct{ kind, resource string }

// parseOVF reads a descriptor, by namespace and never by prefix. The bounds hold whatever the text says; a document type
// is refused, so that there are no entities to expand.
func parseOVF(text []byte) (*ovf, error) {
	dec := xml.NewDecoder(bytes.NewReader(text))
	dec.CharsetReader = charsetReader
	p := &ovfParser{out: &ovf{}}
	for range ovfMaxTokens {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			if !p.out.complete {
				return nil, errors.New("it holds no element")
			}
			return p.out, nil
		}
		if err != nil {
			return nil, err
		}
		if err := p.token(token); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("it has more than %d parts", ovfMaxTokens)
}

// charsetReader reads the encodings besides UTF-8 that old writers declare.
func charsetReader(name string, in io.Reader) (io.Reader, error) {
	switch strings.ToLower(name) {
	case "us-ascii", "ascii":
		return in, nil
	case "iso-8859-1", "latin1", "windows-1252":
		text, err := io.ReadAll(io.LimitReader(in, ovfMaxSize))
		runes := make([]rune, len(text))
		for i, b := range text {
			runes[i] = rune(b)
		}
		return strings.NewReader(string(runes)), err
	}
	return nil, fmt.Errorf("encoding %.20q is not read here", name)
}

type ovfParser struct {
	out   *ovf
	path  []string
	item  *ovfItem
	chars strings.Builder
}

func (p *ovfParser) token(token xml.Token) error {
	switch t := token.(type) {
	case xml.Directive:
		return errors.New("it has a document type, which could define entities")
	case xml.StartElement:
		return p.start(t)
	case xml.EndElement:
		p.end()
	case xml.CharData:
		if p.item != nil && p.chars.Len() < tarMaxName {
			p.chars.Write(t[:min(len(t), tarMaxName)])
		}
	}
	return nil
}

// isOVF says whether the namespace is one of the OVF envelope.
func isOVF(space string) bool {
	return strings.HasPrefix(space, ovfNamespace) || space == ovfNamespace0
}

func (p *ovfParser) start(t xml.StartElement) error {
	if len(p.path) == 0 {
		if p.out.complete {
			return errors.New("it has a second root element")
		}
		if t.Name.Local != "Envelope" || !isOVF(t.Name.Space) {
			return fmt.Errorf("its root is %.40q in the namespace %.80q, not the Envelope of OVF", t.Name.Local, t.Name.Space)
		}
		p.out.complete = true
	}
	if len(p.path) >= ovfMaxDepth {
		return fmt.Errorf("its elements are nested more than %d deep", ovfMaxDepth)
	}
	p.path = append(p.path, t.Name.Local)
	if len(p.out.files)+len(p.out.disks)+len(p.out.items) > ovfMaxItems {
		return fmt.Errorf("it has more than %d files, disks and devices", ovfMaxItems)
	}
	p.chars.Reset()
	if isOVF(t.Name.Space) {
		p.element(t)
	}
	return nil
}

// element notes the elements that matter, at the places where they belong.
func (p *ovfParser) element(t xml.StartElement) {
	parent := ""
	if len(p.path) > 1 {
		parent = p.path[len(p.path)-2]
	}
	at := func(name string) string { return attribute(t, name, isOVF) }
	switch t.Name.Local {
	case "File":
		if parent == "References" {
			p.out.files = append(p.out.files, ovfFile{id: at("id"), href: at("href"), size: at("size")})
		}
	case "Disk":
		if parent == "DiskSection" || parent == "Section" {
			p.out.disks = append(p.out.disks, ovfDisk{
				id: at("diskId"), capacity: at("capacity"), units: at("capacityAllocationUnits"), fileRef: at("fileRef"), parentRef: at("parentRef"),
			})
		}
	case "VirtualSystem":
		p.out.systems++
	case "OperatingSystemSection":
		p.out.osSeen, p.out.osID = true, at("id")
		p.out.osType = attribute(t, "osType", func(space string) bool { return space == vmwNamespace })
	case "Item", "StorageItem", "EthernetPortItem":
		p.item = &ovfItem{}
	}
}

// attribute reads an attribute of the wanted namespace, or one without any.
func attribute(t xml.StartElement, name string, fits func(space string) bool) string {
	for _, a := range t.Attr {
		if a.Name.Local == name && (a.Name.Space == "" || fits(a.Name.Space)) {
			return strings.TrimSpace(a.Value)
		}
	}
	return ""
}

func (p *ovfParser) end() {
	name := p.path[len(p.path)-1]
	p.path = p.path[:len(p.path)-1]
	if p.item == nil {
		return
	}
	text := strings.TrimSpace(p.chars.String())
	p.chars.Reset()
	switch name {
	case "ResourceType":
		p.item.kind = text
	case "HostResource":
		p.item.resource = text
	case "Item", "StorageItem", "EthernetPortItem":
		p.out.items = append(p.out.items, *p.item)
		p.item = nil
	}
}

// parseUnits reads an allocation unit as OVF writes it: "byte", "byte * 2^30", "byte*1024", and the names that old
// writers use.
func parseUnits(text string) (uint64, error) {
	clean := strings.ToLower(strings.Join(strings.Fields(text), ""))
	switch strings.TrimSuffix(clean, "s") {
	case "", "byte":
		return 1, nil
	case "kilobyte":
		return 1 << 10, nil
	case "megabyte":
		return 1 << 20, nil
	case "gigabyte":
		return 1 << 30, nil
	}
	unit, factor, found := strings.Cut(clean, "*")
	if !found || strings.TrimSuffix(unit, "s") != "byte" {
		return 0, fmt.Errorf("the unit %.40q is not understood", text)
	}
	base, exponent, isPower := strings.Cut(factor, "^")
	b, err := strconv.ParseUint(base, 10, 63)
	if err != nil {
		return 0, fmt.Errorf("the unit %.40q is not understood", text)
	}
	if !isPower {
		return b, nil
	}
	e, err := strconv.ParseUint(exponent, 10, 8)
	if err != nil || b < 2 || b > 1024 {
		return 0, fmt.Errorf("the unit %.40q is not understood", text)
	}
	out := uint64(1)
	for range e {
		out = mulSat(out, b)
	}
	return out, nil
}

// bytes is the capacity of a disk; it stops at the largest number.
func (d ovfDisk) bytes() (uint64, error) {
	unit, err := parseUnits(d.units)
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseUint(d.capacity, 10, 64)
	if errors.Is(err, strconv.ErrRange) {
		return math.MaxUint64, nil
	}
	if err != nil {
		return 0, fmt.Errorf("the capacity %.40q is no number", d.capacity)
	}
	return mulSat(n, unit), nil
}
