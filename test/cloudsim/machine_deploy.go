package cloudsim

import (
	"maps"
	"net"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// gib is 2^30 bytes.
const gib = 1 << 30

// deployment is what one deploy call asks for.
type deployment struct {
	m        *machine
	nics     []wantedNIC
	disk     *offering // of a data disk, nil for none
	diskSize int64
	rootSize int64
	root     *offering // overrides that of the root disk, nil for the service offering's
	id       string    // wanted id, empty for any
	host     *host     // wanted host
}

// wantedNIC is a network that a machine is to be on, with the address it wants there.
type wantedNIC struct {
	network *network
	address string
	mac     string
}

// deployVirtualMachine writes the row of a machine, and starts it in a job.
func deployVirtualMachine(c *call) (*work, error) {
	d, err := c.readDeployment()
	if err != nil {
		return nil, err
	}
	for _, check := range []func(*deployment) error{c.checkDeployLimits, c.checkCustomID, c.checkKeys, c.checkZoneOfNetworks, c.checkServices, c.checkHostName, c.checkDisks} {
		if err := check(d); err != nil {
			return nil, err
		}
	}
	return c.deploy(d)
}

// readDeployment reads the parameters and refuses what does not make sense by itself.
func (c *call) readDeployment() (*deployment, error) {
	if err := c.checkDeployRights(); err != nil {
		return nil, err
	}
	nics, err := c.readNICs()
	if err != nil {
		return nil, err
	}
	m, err := c.newMachine()
	if err != nil {
		return nil, err
	}
	d := &deployment{m: m, nics: nics, id: c.str("customid")}
	for _, read := range []func(*deployment) error{c.readAffinity, c.readBoot, c.readMachineDetails, c.readUserData, c.readSize, c.readDisks, c.readSecurity, c.defaultNICs} {
		if err := read(d); err != nil {
			return nil, err
		}
	}
	d.host, _ = refer(c, c.hosts, "hostid")
	return d, nil
}

// checkDeployRights refuses what only root admins may ask for.
func (c *call) checkDeployRights() error {
	for _, p := range []string{"podid", "clusterid", "hostid"} {
		if c.has(p) && !c.root() {
			return denied("Parameter %s can only be specified by a Root Admin, permission denied", p)
		}
	}
	return nil
}

// hostNamePattern is what a host name looks like.
func hostNamePattern() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?$`)
}

// refuseHostName refuses a name that is no host name; the parameter layer does it before anything else.
func (c *call) refuseHostName(param string) error {
	if hostNamePattern().MatchString(c.str(param)) {
		return nil
	}
	return badParam("Unable to execute API command %s due to invalid value. Invalid value provided for API arg: %s - it can contain ASCII letters 'a' through 'z', "+
		"the digits '0' through '9', and the hyphen ('-'), must be between 1 and 63 characters long, and can't start or end with \"-\" and can't start with digit", c.wireName(), param)
}

// newMachine finds owner, template, offering and zone.
func (c *call) newMachine() (*machine, error) {
	t, haveTemplate := refer(c, c.templates, "templateid")
	o, _ := refer(c, c.serviceOfferings, "serviceofferingid")
	z, _ := refer(c, c.zones, "zoneid")
	owner, err := c.ownerOf()
	switch {
	case err != nil:
		return nil, err
	case z == nil:
		return nil, invalid("Unable to find zone by id=%s", c.str("zoneid"))
	case o == nil:
		return nil, invalid("Unable to find service offering: %s", c.str("serviceofferingid"))
	case !o.live():
		return nil, invalid("Service offering is inactive: [%s].", o.id)
	case !haveTemplate:
		return nil, internal("Please provide only one of the following parameters - template ID, volume ID or snapshot ID")
	case t == nil || !t.live():
		return nil, invalid("Unable to use template %s", dbOr(t, c.str("templateid")))
	}
	if err := c.mayDeploy(t, z); err != nil {
		return nil, err
	}
	if h := c.str("hypervisor"); h != "" && knownHypervisor(h) && !strings.EqualFold(h, t.hypervisor) {
		return nil, invalid("Hypervisor passed to the deployVm call, is different from the hypervisor type of the template")
	}
	return &machine{owner: owner, user: c.userFor(owner), name: c.str("name"), displayName: c.str("displayname"), zone: z, template: t, offering: o, state: machineStopped}, nil
}

// userFor is the user whose machine it will be: the caller, or the first user of the account that the caller acts for.
func (c *call) userFor(owner *account) *user {
	if owner != c.acct && owner.project == nil {
		for _, u := range c.users.rows {
			if u.live() && u.account == owner {
				return u
			}
		}
	}
	return c.user
}

// mayDeploy refuses zones that are disabled and templates that are not there, not ready or not the caller's.
func (c *call) mayDeploy(t *template, z *zone) error {
	if z.allocation != "Enabled" && !c.root() {
		return denied("Cannot perform this operation, Zone is currently disabled: Zone %s", z.printed())
	}
	if err := c.mayLaunch(t); err != nil {
		return err
	}
	cp := t.copyIn(z)
	switch {
	case cp == nil:
		return invalid("The template %d is not available for use", t.db)
	case t.upload && !cp.ready:
		e := internal("template is not ready")
		e.cs = 0
		return e
	case !cp.ready && t.format != "OVA":
		return invalid("Template %s is not ready to be used", t.name)
	}
	return nil
}

func dbOr(t *template, sent string) string {
	if t == nil {
		return sent
	}
	return formatInt(t.db)
}

func (c *call) readBoot(d *deployment) error {
	if b := c.str("boottype"); b != "" && !contains([]string{"UEFI", "BIOS"}, strings.ToUpper(b)) {
		return invalid("Invalid bootType %sSpecified for vm %s Valid values are: [UEFI, BIOS]", b, d.m.name) // sic
	}
	return nil
}

// readMachineDetails takes the details over, without those that are empty.
func (c *call) readMachineDetails(d *deployment) error {
	d.m.details = map[string]string{}
	for k, v := range c.mapOf("details") {
		if strings.HasPrefix(k, "extraconfig") {
			return invalid("detail name should not start with extraconfig")
		}
		if v != "" {
			d.m.details[k] = v
		}
	}
	d.m.details[detailDeploy] = "true"
	return nil
}

// customBound is a size of a customised offering: how texts call it and which details bound it.
type customBound struct {
	key, text, low, high string
	least                int64
	fixed                string // the field of an offering that has it fixed
}

func customBounds() []customBound {
	return []customBound{
		{"cpuNumber", "cpu cores", "mincpunumber", "maxcpunumber", 1, "cpunumber"},
		{"cpuSpeed", "cpu speed", "", "", 1, "cpuspeed"},
		{"memory", "memory", "minmemory", "maxmemory", 32, "memory"},
	}
}

const maxInt32 = 1<<31 - 1

// readSize takes the sizes of a customised offering, and refuses them on a fixed one.
func (c *call) readSize(d *deployment) error {
	sizes, err := c.customSize(d.m.offering, d.m.details)
	if err != nil {
		return err
	}
	d.m.cpus, d.m.mhz, d.m.mib = sizes["cpuNumber"], sizes["cpuSpeed"], sizes["memory"]
	return nil
}

// customSize checks sizes in details against an offering.
func (c *call) customSize(o *offering, details map[string]string) (map[string]int64, error) {
	given := 0
	for k := range details {
		if slices.ContainsFunc(customBounds(), func(b customBound) bool { return strings.EqualFold(b.key, k) }) {
			given++
		}
	}
	switch {
	case !o.flag("iscustomized") && given > 0:
		return nil, invalid("cpuNumber or cpuSpeed or memory should not be specified for static service offering")
	case !o.flag("iscustomized"):
		return nil, nil
	case given == 0:
		return nil, invalid("Need to specify custom parameter values cpu, cpu speed and memory when using custom offering")
	}
	out := map[string]int64{}
	for _, b := range customBounds() {
		if o.attrs.get(b.fixed) != nil {
			if details[b.key] != "" {
				return nil, invalid("The %s of this offering id:%s is not customizable. This is predefined in the template.", b.text, o.id)
			}
			continue
		}
		low, high := o.bound(b.low, b.least), o.bound(b.high, maxInt32)
		n, err := strconv.ParseInt(details[b.key], 10, 64)
		if err != nil || n < low || n > high {
			return nil, invalid("Invalid %s value, specify a value between %d and %d", b.text, low, high)
		}
		out[b.key] = n
	}
	return out, nil
}

// bound reads a bound of a customised offering.
func (o *offering) bound(name string, def int64) int64 {
	bounds, _ := o.attrs.get("serviceofferingdetails").(object)
	if n, ok := number(bounds.str(name)); ok {
		return n
	}
	return def
}

// readDisks reads the sizes of root and data disk.
func (c *call) readDisks(d *deployment) error {
	if o, ok := refer(c, c.diskOfferings, "diskofferingid"); ok && o != nil {
		size, err := c.dataDiskSize(o)
		if err != nil {
			return err
		}
		d.disk, d.diskSize = o, size
	}
	d.root, _ = refer(c, c.diskOfferings, "overridediskofferingid")
	d.rootSize = c.templateSize(d.m)
	if d.root != nil && d.root.num("disksize") > 0 {
		d.rootSize = max(d.rootSize, d.root.num("disksize")*gib)
	}
	if n := d.m.offering.num("rootdisksize"); n > 0 {
		d.rootSize = n * gib
	}
	n, sent := c.num("rootdisksize", 0), c.str("rootdisksize") != ""
	if v, ok := number(d.m.details["rootdisksize"]); ok && !sent {
		n, sent = v, true
	}
	if !sent {
		return nil
	}
	if n <= 0 {
		return invalid("Root disk size should be a positive number.")
	}
	d.rootSize = n * gib
	return nil
}

// templateSize is the size of the disk in a template.
func (c *call) templateSize(m *machine) int64 {
	if cp := m.template.copyIn(m.zone); cp != nil && cp.size > 0 {
		return cp.size
	}
	return 2 * gib
}

// dataDiskSize is the size of a data disk in bytes; of a fixed offering it is always the offering's.
func (c *call) dataDiskSize(o *offering) (int64, error) {
	if !o.flag("iscustomized") {
		return o.num("disksize") * gib, nil
	}
	most := c.settingNumber("custom.diskoffering.size.max", 1024)
	size := c.num("size", -1)
	switch {
	case !c.has("size"):
		return 0, invalid("This disk offering requires a custom size specified")
	case size < 1 || size > most:
		return 0, invalid("Volume size: %d GB is out of allowed range. Min: 1. Max: %d", size, most)
	}
	return size * gib, nil
}

// readNICs reads which networks and addresses are asked for.
func (c *call) readNICs() ([]wantedNIC, error) {
	entries := c.maps["iptonetworklist"]
	networks, named := referAll(c, c.networks, "networkids")
	if len(entries) > 0 {
		if named || c.str("ipaddress") != "" {
			return nil, invalid("ipToNetworkMap can't be specified along with networkIds or ipAddress")
		}
		return c.readNICList(entries)
	}
	var out []wantedNIC
	for i, n := range networks {
		w := wantedNIC{network: n}
		if i == 0 {
			w.address, w.mac = c.str("ipaddress"), c.str("macaddress")
		}
		out = append(out, w)
	}
	return out, c.checkWanted(out)
}

func (c *call) readNICList(entries map[int]mapValues) ([]wantedNIC, error) {
	var out []wantedNIC
	for _, i := range slices.Sorted(maps.Keys(entries)) {
		e := mapValues{}
		for k, v := range entries[i] {
			e[strings.ToLower(k)] = v
		}
		n := resolveRow(c.networks, e["networkid"])
		if n == nil {
			return nil, invalid("Unable to translate and find entity with networkId: %s", e["networkid"])
		}
		out = append(out, wantedNIC{n, e["ip"], e["mac"]})
	}
	return out, c.checkWanted(out)
}

// checkWanted refuses addresses that are none.
func (c *call) checkWanted(nics []wantedNIC) error {
	for _, w := range nics {
		if w.address != "" {
			if a, err := netip.ParseAddr(w.address); err != nil || !a.Is4() {
				return invalid("Invalid specified IPv4 address %s", w.address)
			}
		}
		if w.mac != "" {
			if _, err := net.ParseMAC(w.mac); err != nil {
				return invalid("Mac address is not valid: %s", w.mac)
			}
		}
	}
	return nil
}

// defaultNICs checks the networks that were named; without any, the account's only isolated one is taken or made.
func (c *call) defaultNICs(d *deployment) error {
	for _, w := range d.nics {
		if err := c.mayDeployOn(w.network, d.m.owner); err != nil {
			return err
		}
	}
	if len(d.nics) > 0 {
		return nil
	}
	if d.m.zone.attrs.get("securitygroupsenabled") == true {
		return c.sharedDefault(d)
	}
	own := c.networks.all(func(n *network) bool { return n.owner == d.m.owner && n.zone == d.m.zone && n.kind() == "Isolated" })
	switch len(own) {
	case 0: // one is made, once the limits allow it
		return nil
	case 1:
		d.nics = []wantedNIC{{network: own[0], address: c.str("ipaddress"), mac: c.str("macaddress")}}
		return c.checkWanted(d.nics)
	}
	return invalid("More than 1 default Isolated networks are found for account %s; please specify networkIds", d.m.owner.asText())
}

// asText prints an account as refusals do, with its own id.
func (a *account) asText() string {
	return `Account [{"accountName":` + strconv.Quote(a.name) + `,"id":` + formatInt(a.db) + `,"uuid":"` + a.id + `"}]`
}

// sharedDefault takes the shared network of a zone with security groups.
func (c *call) sharedDefault(d *deployment) error {
	for _, n := range c.networks.all(func(n *network) bool { return n.zone == d.m.zone && n.kind() == "Shared" }) {
		if c.mayDeployOn(n, d.m.owner) == nil {
			d.nics = []wantedNIC{{network: n, address: c.str("ipaddress")}}
			return c.checkWanted(d.nics)
		}
	}
	return nil
}

// defaultNetwork makes the network of an account that has none.
func (c *call) defaultNetwork(m *machine) (*network, error) {
	if err := c.checkLimit(m.owner, limitNetwork, 1, csPlain); err != nil {
		return nil, err
	}
	o := c.defaultNetworkOffering()
	if o == nil {
		return nil, internal("Unable to find network offering with availability=Required")
	}
	n := &network{owner: m.owner, name: m.owner.name + "-network", text: m.owner.name + "-network", zone: m.zone, offering: o, state: networkAllocated}
	n.cidr, n.gateway = m.zone.guests()
	c.insertNetwork(n)
	return n, nil
}

// defaultNetworkOffering is the one that networks are made of which nobody asked for.
func (s *Server) defaultNetworkOffering() *offering {
	for _, o := range s.networkOfferings.rows {
		if o.attrs.str("availability") == "Required" && o.attrs.str("guestiptype") == "Isolated" && !o.flag("forvpc") && o.supports([]string{"SourceNat"}) {
			return o
		}
	}
	return nil
}
