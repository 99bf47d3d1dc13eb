package ova_test

import (
	"encoding/xml"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/capcat/capcat/imagecatalog/artifact/ova"
	"github.com/capcat/capcat/imagecatalog/internal/islands"
)

const (
	vssdSpace = cimSpace + "VirtualSystemSettingData"
	rasdSpace = cimSpace + "ResourceAllocationSettingData"
)

// rule is what the schema of an element says: its children, as an expression over their names with a blank behind each, and
// its attributes in the namespace of OVF. Elements of other makers are called "other".
type rule struct{ children, required, optional string }

// rules are the parts of DMTF's DSP8023 (envelope, 1.1) that are written here, and of the CIM classes in it, whose properties
// stand in the order of their names.
var rules = map[xml.Name]rule{
	{Space: ovfSpace, Local: "Envelope"}: {
		children: `References ((Disk|Network|DeploymentOption)Section )*(VirtualSystem|VirtualSystemCollection) (Strings )*`,
	},
	{Space: ovfSpace, Local: "References"}:             {children: `(File )*`},
	{Space: ovfSpace, Local: "File"}:                   {required: "id href", optional: "size compression chunkSize"},
	{Space: ovfSpace, Local: "DiskSection"}:            {children: `Info (Disk )*(other )*`, optional: "required"},
	{Space: ovfSpace, Local: "Disk"}:                   {required: "diskId capacity", optional: "capacityAllocationUnits fileRef format populatedSize parentRef"},
	{Space: ovfSpace, Local: "NetworkSection"}:         {children: `Info (Network )*(other )*`, optional: "required"},
	{Space: ovfSpace, Local: "Network"}:                {children: `(Description )?(other )*`, required: "name"},
	{Space: ovfSpace, Local: "VirtualSystem"}:          {children: `Info (Name )?(\w+Section )*`, required: "id"},
	{Space: ovfSpace, Local: "OperatingSystemSection"}: {children: `Info (Description )?(other )*`, required: "id", optional: "version required"},
	{Space: ovfSpace, Local: "VirtualHardwareSection"}: {children: `Info (System )?(Item )*(other )*`, optional: "required id transport"},
	{Space: ovfSpace, Local: "System"}: {children: `(AutomaticRecoveryAction )?(AutomaticShutdownAction )?(AutomaticStartupAction )?(Caption )?(ChangeableType )?` +
		`(ConfigurationName )?(Description )?ElementName InstanceID (VirtualSystemIdentifier )?(VirtualSystemType )?`},
	{Space: ovfSpace, Local: "Item"}: {children: `(Address )?(AddressOnParent )?(AllocationUnits )?(AutomaticAllocation )?(AutomaticDeallocation )?(Caption )?` +
		`(Connection )*(ConsumerVisibility )?(Description )?ElementName (HostResource )*InstanceID (Limit )?(MappingBehavior )?(OtherResourceType )?(Parent )?` +
		`(PoolID )?(Reservation )?(ResourceSubType )?ResourceType (VirtualQuantity )?(VirtualQuantityUnits )?(Weight )?`, optional: "required configuration bound"},
}

// texts are elements that hold nothing but text, in each namespace; an empty list means all of it.
var texts = map[string][]string{ovfSpace: {"Info", "Name", "Description"}, vssdSpace: nil, rasdSpace: nil}

// faults reads an element as strictly as a reader that validates.
func (n node) faults(path string) []string {
	path += "/" + n.XMLName.Local
	r, known := rules[n.XMLName]
	if names, namespace := texts[n.XMLName.Space]; !known && namespace && (names == nil || slices.Contains(names, n.XMLName.Local)) {
		if strings.TrimSpace(n.Text) == "" || len(n.Nodes) > 0 {
			return []string{path + " holds no text, or more than text"}
		}
		return nil
	}
	if !known {
		if n.XMLName.Space == ovfSpace {
			return []string{path + " is not in the schema"}
		}
		return nil
	}
	var all []string
	if strings.TrimSpace(n.Text) != "" {
		all = append(all, path+" holds text")
	}
	order := ""
	for _, child := range n.Nodes {
		name := child.XMLName.Local
		if !slices.Contains([]string{ovfSpace, vssdSpace, rasdSpace}, child.XMLName.Space) {
			name = "other"
		}
		order += name + " "
		all = append(all, child.faults(path)...)
	}
	if !regexp.MustCompile(`^` + r.children + `$`).MatchString(order) {
		all = append(all, fmt.Sprintf("%s has the children %s", path, order))
	}
	return append(all, n.attributeFaults(path, r)...)
}

func (n node) attributeFaults(path string, r rule) (all []string) {
	required, have := strings.Fields(r.required), map[string]bool{}
	for _, a := range n.Attrs {
		switch {
		case a.Name.Space == "" && a.Name.Local != "xmlns":
			all = append(all, fmt.Sprintf("%s: %s is in no namespace", path, a.Name.Local))
		case a.Name.Space != ovfSpace:
		case !slices.Contains(append(strings.Fields(r.optional), required...), a.Name.Local):
			all = append(all, fmt.Sprintf("%s: the schema has no attribute %s", path, a.Name.Local))
		default:
			have[a.Name.Local] = true
		}
	}
	for _, name := range required {
		if !have[name] {
			all = append(all, fmt.Sprintf("%s: the attribute %s is missing", path, name))
		}
	}
	return all
}

// TestDescriptorFitsTheSchema reads what is written, and the same with a fault in it, which has to be found.
func TestDescriptorFitsTheSchema(t *testing.T) {
	names, data := members(t, write(t, islands.New(70*mib, 5000, 0), ova.Options{Machine: ova.Machine{Name: "node", EFI: true}}))
	text := string(data[names[0]])
	for what, c := range map[string]struct{ old, new, want string }{
		"as it is":                  {},
		"sections before the files": {"<References>", "<DiskSection><Info>x</Info></DiskSection><References>", "has the children DiskSection References"},
		"no information":            {"<Info>Networks</Info>", "", "NetworkSection has the children Network"},
		"empty information":         {"<Info>Networks</Info>", "<Info/>", "holds no text"},
		"name before information":   {"<Info>A virtual machine</Info>", "<Name>node</Name><Info>A virtual machine</Info>", "VirtualSystem has the children Name Info"},
		"no capacity":               {` ovf:capacity="73400320"`, "", "capacity is missing"},
		"attribute without prefix":  {"ovf:fileRef", "fileRef", "in no namespace"},
		"attribute of nobody":       {"ovf:fileRef", "ovf:file", "no attribute file"},
		"device without type":       {"<rasd:ResourceType>17</rasd:ResourceType>", "", "Item has the children"},
		"properties out of order":   {"<rasd:AddressOnParent>0</rasd:AddressOnParent>", "<rasd:Parent>3</rasd:Parent>", "Item has the children Parent"},
		"unknown element":           {"<References>", "<Reference/><References>", "is not in the schema"},
		"settings before devices":   {"<System>", `<vmw:Config/><System>`, "VirtualHardwareSection has the children Info other"},
	} {
		t.Run(what, func(t *testing.T) {
			changed := strings.Replace(text, c.old, c.new, 1)
			if c.old != "" && changed == text {
				t.Fatalf("there is no %s", c.old)
			}
			var envelope node
			if err := xml.Unmarshal([]byte(changed), &envelope); err != nil {
				t.Fatal(err)
			}
			faults := strings.Join(envelope.faults(""), "\n")
			if (faults == "") != (c.want == "") || !strings.Contains(faults, c.want) {
				t.Errorf("found %q, want %q", faults, c.want)
			}
		})
	}
}
