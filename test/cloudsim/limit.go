package cloudsim

import (
	"fmt"
	"strconv"
)

// limit is a kind of resource that an account may hold so much of, by its number on the wire.
type limit int

// Kinds of limits.
const (
	limitVM limit = iota
	limitIP
	limitVolume
	limitSnapshot
	limitTemplate
	limitProject
	limitNetwork
	limitVPC
	limitCPU
	limitMemory
	limitPrimary
	limitSecondary
	limitBackup
	limitBackupStorage
	limitBucket
	limitObjectStorage
	limitGPU
)

const noLimit = -1

// limitKind describes one of them: its name, its default for accounts (in GiB where bytes are counted), how lists call it.
type limitKind struct {
	name    string
	setting string
	def     int64
	field   string
	gib     bool
	since   string
}

func limitKinds() []limitKind {
	return []limitKind{
		{"user_vm", "max.account.user.vms", 20, "vm", false, ""},
		{"public_ip", "max.account.public.ips", 20, "ip", false, ""},
		{"volume", "max.account.volumes", 20, "volume", false, ""},
		{"snapshot", "max.account.snapshots", 20, "snapshot", false, ""},
		{"template", "max.account.templates", 20, "template", false, ""},
		{"project", "max.account.projects", 10, "project", false, ""},
		{"network", "max.account.networks", 20, "network", false, ""},
		{"vpc", "max.account.vpcs", 20, "vpc", false, ""},
		{"cpu", "max.account.cpus", 40, "cpu", false, ""},
		{"memory", "max.account.memory", 40960, "memory", false, ""},
		{"primary_storage", "max.account.primary.storage", 200, "primarystorage", true, ""},
		{"secondary_storage", "max.account.secondary.storage", 400, "secondarystorage", true, ""},
		{"backup", "max.account.backups", 20, "backup", false, "4.21"},
		{"backup_storage", "max.account.backup.storage", 400, "backupstorage", true, "4.21"},
		{"bucket", "max.account.buckets", 20, "bucket", false, "4.21"},
		{"object_storage", "max.account.object.storage", 400, "objectstorage", true, "4.21"},
		{"gpu", "max.account.gpus", 20, "gpu", false, "4.21"},
	}
}

// limitOf is what an account may hold, in pieces or bytes; noLimit for no bound. Root admins have none.
func (s *Server) limitOf(a *account, l limit) int64 {
	k := limitKinds()[l]
	n, set := a.limits[int(l)]
	if !set {
		if a.kind == accountRoot {
			return noLimit
		}
		n = s.settingNumber(k.setting, k.def)
	}
	if k.gib && n != noLimit {
		n <<= 30
	}
	return n
}

// checkLimit refuses what would lift an account over its limit, or its domains over theirs. cs is how the service that asks numbers it.
func (s *Server) checkLimit(a *account, l limit, more int64, cs int) error {
	have := s.usage(a)[l]
	if most := s.limitOf(a, l); a.kind != accountRoot && most != noLimit && have+more > most {
		return &apiError{code: 535, cs: cs, job: 530, text: fmt.Sprintf("Maximum amount of resources of Type = '%s', %sfor %s in Domain Id = %d is exceeded: Account Resource Limit = %s, "+
			"Current Account Resource Amount = %s, Current Account Resource Reservation = %s, Requested Resource Amount = %s.", limitKinds()[l].name, s.tagPart(), accountPart(a), a.domain.db,
			l.amount(most), l.amount(have), l.amount(0), l.amount(more))}
	}
	for d := a.domain; d != nil; d = d.parent {
		most, set := d.limits[int(l)]
		if !set || most == noLimit || a.kind == accountRoot {
			continue
		}
		if limitKinds()[l].gib {
			most <<= 30
		}
		if sum := s.domainUsage(d)[l]; sum+more > most {
			return &apiError{code: 535, cs: cs, job: 530, text: fmt.Sprintf("Maximum domain resource limits of Type '%s'%s for Domain Id = %s is exceeded: Domain Resource Limit = %s, "+
				"Current Domain Resource Amount = %s, Current Resource Reservation = %s, Requested Resource Amount = %s.", limitKinds()[l].name, "", d.id,
				l.amount(most), l.amount(sum), l.amount(0), l.amount(more))}
		}
	}
	return nil
}

// tagPart is what releases from 4.20 on say about tagged limits.
func (s *Server) tagPart() string {
	if s.knows("4.20") {
		return "tag = 'null' "
	}
	return ""
}

func accountPart(a *account) string {
	if a.project != nil {
		return "Project Name = " + a.project.name
	}
	return "Account Name = " + a.name
}

// amount prints a number as the texts do: bytes also in GB.
func (l limit) amount(n int64) string {
	if k := limitKinds()[l]; k.gib && n != 0 {
		return fmt.Sprintf("(%.2f GB) %d", float64(n)/(1<<30), n)
	}
	return strconv.FormatInt(n, 10)
}

// usage counts what an account holds, by kind.
func (s *Server) usage(a *account) map[limit]int64 {
	return s.count(func(o *account) bool { return o == a })
}

func (s *Server) domainUsage(d *domain) map[limit]int64 {
	return s.count(func(o *account) bool { return d.contains(o.domain) })
}

func (s *Server) count(owner owns) map[limit]int64 {
	n := map[limit]int64{}
	for _, t := range s.templates.rows {
		if !t.live() || !owner(t.owner) {
			continue
		}
		n[limitTemplate]++
		for _, cp := range t.liveCopies() {
			n[limitSecondary] += cp.physical
		}
	}
	for _, p := range s.projects.rows {
		if p.live() && owner(p.owner) {
			n[limitProject]++
		}
	}
	s.countMachines(owner, n)
	s.countNetworks(owner, n)
	return n
}

// listResourceLimits shows limits: those that were set for the account first, then the defaults.
func listResourceLimits(c *call) (object, error) {
	if c.has("resourcetype") && (c.num("resourcetype", -1) < 0 || c.num("resourcetype", -1) >= int64(len(limitKinds()))) {
		return nil, invalid("Please specify a valid resource type.")
	}
	a, d, err := c.limitHolder()
	if err != nil {
		return nil, err
	}
	set := a.limitsOr(d)
	var rows []limit
	for pass := range 2 {
		for _, l := range limitOrder() {
			_, own := set[int(l)]
			wanted := !c.has("resourcetype") || c.num("resourcetype", -1) == int64(l)
			if own == (pass == 0) && wanted && c.knows(limitKinds()[l].since) {
				rows = append(rows, l)
			}
		}
	}
	return pageOf(c, "resourcelimit", rows, func(l limit) object { return c.limitObject(a, d, l) })
}

// limitOrder is the order in which kinds are listed.
func limitOrder() []limit {
	order := []limit{}
	for i := range limitKinds() {
		order = append(order, limit(i))
	}
	return order
}

func (a *account) limitsOr(d *domain) map[int]int64 {
	if a != nil {
		return a.limits
	}
	return d.limits
}

// limitHolder is whose limits a call is about: an account, or a domain as a whole.
func (c *call) limitHolder() (*account, *domain, error) {
	d, byDomain := refer(c, c.domains, "domainid")
	if err := c.mayUseDomain(d); err != nil {
		return nil, nil, err
	}
	switch {
	case c.str("account") != "" && byDomain && d != nil:
		a, err := c.accountIn(c.str("account"), d)
		return a, nil, err
	case byDomain && d != nil && c.admin():
		return nil, d, nil
	}
	return c.acct, nil, nil
}

func (c *call) limitObject(a *account, d *domain, l limit) object {
	o, most := object{}, int64(noLimit)
	if a != nil {
		o = append(o, c.ownerFields(a, "account")...)
		d, most = a.domain, c.limitOf(a, l)
		if limitKinds()[l].gib && most != noLimit {
			most >>= 30
		}
	} else if n, ok := d.limits[int(l)]; ok {
		most = n
	}
	return append(o, obj("domainid", d.id, "domain", d.name, "domainpath", d.path(), "resourcetype", strconv.Itoa(int(l)),
		"resourcetypename", limitKinds()[l].name, "max", most)...)
}

// updateResourceLimit sets a limit of an account, a project or a domain.
func updateResourceLimit(c *call) (object, error) {
	l := limit(c.num("resourcetype", -1))
	if l < 0 || int(l) >= len(limitKinds()) {
		return nil, invalid("Please specify valid resource type")
	}
	a, d, err := c.limitHolder()
	if err != nil {
		return nil, err
	}
	if p, ok := refer(c, c.projects, "projectid"); ok && p != nil {
		a, d = p.account, nil
	}
	most := max(c.num("max", noLimit), noLimit)
	a.limitsOr(d)[int(l)] = most
	return obj("resourcelimit", c.limitObject(a, d, l)), nil
}
