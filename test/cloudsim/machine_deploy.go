package cloudsim

import (
	"regexp"
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
	b, mode := c.str("boottype"), c.str("bootmode")
	switch {
	case b != "" && !contains([]string{"UEFI", "BIOS"}, strings.ToUpper(b)):
		return invalid("Invalid bootType %sSpecified for vm %s Valid values are: [UEFI, BIOS]", b, d.m.name) // sic
	case !strings.EqualFold(b, "UEFI"): // the mode is looked at for UEFI alone
		return nil
	case mode == "":
		return invalid("bootmode must be specified for the VM with boot type: UEFI. Valid values are: [LEGACY, SECURE]")
	case !contains([]string{"LEGACY", "SECURE"}, strings.ToUpper(mode)):
		return invalid("Invalid bootmode: %s specified for VM: %s. Valid values are: [LEGACY, SECURE]", mode, d.m.name)
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
