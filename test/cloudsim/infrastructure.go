package cloudsim

import (
	"fmt"
	"strings"
	"time"
)

// managementServer is the node that answers.
type managementServer struct {
	base
	name    string
	started time.Time
	stopped time.Time
}

// pod is a rack of a zone.
type pod struct {
	base
	name string
	zone *zone
}

// cluster is a group of hosts.
type cluster struct {
	base
	name       string
	zone       *zone
	pod        *pod
	hypervisor string
}

// host runs machines.
type host struct {
	base
	name       string
	zone       *zone
	cluster    *cluster
	hypervisor string
	address    string
	state      string
	resource   string
	attrs      object
}

func (h *host) num(name string) int64 {
	n, _ := h.attrs.get(name).(int64)
	return n
}

func listHosts(c *call) (object, error) {
	wanted, byID := refer(c, c.hosts, "id")
	z, byZone := refer(c, c.zones, "zoneid")
	cl, byCluster := refer(c, c.clusters, "clusterid")
	rows := c.hosts.all(func(h *host) bool {
		switch {
		case byID && h != wanted, byZone && h.zone != z, byCluster && h.cluster != cl:
			return false
		case c.has("name") && !strings.EqualFold(h.name, c.str("name")):
			return false
		case c.has("state") && !strings.EqualFold(h.state, c.str("state")):
			return false
		case c.has("resourcestate") && !strings.EqualFold(h.resource, c.str("resourcestate")):
			return false
		case c.has("hypervisor") && !strings.EqualFold(h.hypervisor, c.str("hypervisor")):
			return false
		case c.has("type") && !strings.EqualFold("Routing", c.str("type")):
			return false
		}
		return containsFold(h.name, c.str("keyword"))
	})
	return pageOf(c, "host", rows, c.hostObject)
}

func percent(part, of int64) string {
	if of == 0 {
		return "0%"
	}
	s := strings.TrimRight(strings.TrimRight(fmt.Sprintf("%.2f", float64(part)*100/float64(of)), "0"), ".")
	return s + "%"
}

func (c *call) hostObject(h *host) object {
	cpus, speed, memory := h.num("cpunumber"), h.num("cpuspeed"), h.num("memorytotal")
	usedCPU, usedMemory := c.usedOn(h)
	o := obj("id", h.id, "name", h.name, "state", h.state, "disconnected", stamp(c.manager.started), "type", "Routing", "ipaddress", h.address,
		"zoneid", h.zone.id, "zonename", h.zone.name, "podid", h.cluster.pod.id, "podname", h.cluster.pod.name, "version", c.release,
		"hypervisor", h.hypervisor, "cpunumber", cpus, "cpuspeed", speed, "cpuallocated", percent(usedCPU, cpus*speed),
		"cpuallocatedvalue", usedCPU, "cpuallocatedpercentage", percent(usedCPU, cpus*speed), "cpuallocatedwithoverprovisioning", percent(usedCPU, cpus*speed),
		"cpuused", "0%", "cpuwithoverprovisioning", fmt.Sprint(cpus*speed), "cpuloadaverage", 0.0, "networkkbsread", 32768, "networkkbswrite", 16384,
		"memorytotal", memory, "memorywithoverprovisioning", fmt.Sprint(memory), "memoryallocated", usedMemory,
		"memoryallocatedpercentage", percent(usedMemory, memory), "memoryallocatedbytes", usedMemory, "memoryused", 0)
	if c.knows("4.21") {
		o = append(o, obj("gputotal", 0, "gpuused", 0, "gpugroup", []object{})...)
	}
	o = append(o, obj("capabilities", "hvm", "lastpinged", stamp(c.now()), "managementserverid", c.manager.id)...)
	if c.knows("4.21") {
		o = o.with("managementservername", c.manager.name)
	}
	o = append(o, obj("clusterid", h.cluster.id, "clustername", h.cluster.name, "clustertype", "CloudManaged", "islocalstorageactive", false,
		"created", stamp(h.created), "events", "PingTimeout; HostDown; AgentDisconnected; ShutdownRequested; StartAgentRebalance; AgentConnected; Ping; ManagementServerDown; Remove",
		"hostha", obj("haenable", false, "hastate", "Disabled"), "outofbandmanagement", obj("powerstate", "Disabled", "enabled", false),
		"resourcestate", h.resource, "hypervisorversion", c.release, "hahost", false, "ueficapability", false)...)
	if c.knows("4.20") {
		o = o.with("arch", "x86_64")
	}
	return o.with("hasannotations", false)
}

func (c *call) managementServerObject(m *managementServer) object {
	agents := make([]string, 0, len(c.hosts.rows))
	for _, h := range c.hosts.rows {
		agents = append(agents, h.id)
	}
	o := obj("id", m.id, "name", m.name, "state", "Up", "version", c.release, "javadistribution", "Debian", "javaversion", "17.0.15+6-Debian-1deb12u1",
		"osdistribution", "Debian GNU/Linux 12 (bookworm)", "lastserverstart", stamp(m.started), "lastserverstop", stamp(m.stopped),
		"lastboottime", stamp(c.started), "serviceip", "127.0.0.1", "ipaddress", "127.0.0.1")
	if c.knows("4.21") {
		pending := len(c.jobs.all(func(j *job) bool { return j.status == jobPending }))
		o = append(o, obj("lastagents", agents, "agents", agents, "agentscount", len(agents), "pendingjobscount", pending)...)
	}
	return o
}

// managers is the list of one node, filtered.
func (c *call) managers() []*managementServer {
	if (c.has("id") && !strings.EqualFold(c.str("id"), c.manager.id)) || (c.has("name") && !strings.EqualFold(c.str("name"), c.manager.name)) {
		return nil
	}
	return []*managementServer{&c.manager}
}

func listManagementServers(c *call) (object, error) {
	return pageOf(c, "managementserver", c.managers(), c.managementServerObject)
}

func listManagementServersMetrics(c *call) (object, error) {
	return pageOf(c, "managementserver", c.managers(), func(m *managementServer) object {
		base := c.managementServerObject(m)
		o := obj("availableprocessors", 2, "agentcount", len(c.hosts.rows), "sessions", len(c.sessions), "heapmemoryused", 445362176,
			"heapmemorytotal", 3221225472, "threadsblockedcount", 0, "threadsdaemoncount", 15, "threadsrunnablecount", 9, "threadsteminatedcount", 0,
			"threadstotalcount", 1601, "threadswaitingcount", 1509, "systemmemorytotal", "23.54 GB", "systemmemoryfree", "11.06 GB",
			"systemmemoryvirtualsize", "6.66 GB", "loginfo", "", "systemtotalcpucycles", 4200.0, "systemloadaverages", []any{0.35, 1.12, 2.24},
			"systemcycleusage", []any{593912, 68444, 1151669}, "dbislocal", true, "usageislocal", false, "cpuload", "36.51 %",
			"collectiontime", stamp(c.now()))
		for _, f := range base {
			o = append(o, f)
			if f.name == "lastboottime" {
				o = o.with("kernelversion", "6.1.0")
			}
		}
		return o
	})
}

func listInfrastructure(c *call) (object, error) {
	return obj("infrastructure", obj("zones", len(c.zones.all(everything)), "pods", len(c.pods.rows), "clusters", len(c.clusters.rows), "hosts", len(c.hosts.rows),
		"storagepools", len(c.clusters.rows), "imagestores", len(c.zones.all(everything)), "backuprepositories", 0, "objectstores", 0,
		"systemvms", 2*len(c.zones.rows), "routers", 0, "ilbvms", 0, "cpusockets", 0, "managementservers", 1, "alerts", 0)), nil
}

func everything[T any](T) bool { return true }

// capacityKind is a row of listCapacity.
type capacityKind struct {
	number int
	name   string
	total  func(*host) int64
	used   func(c *call, h *host) int64
}

func capacityKinds() []capacityKind {
	return []capacityKind{
		{0, "MEMORY", func(h *host) int64 { return h.num("memorytotal") }, func(c *call, h *host) int64 { _, m := c.usedOn(h); return m }},
		{1, "CPU", func(h *host) int64 { return h.num("cpunumber") * h.num("cpuspeed") }, func(c *call, h *host) int64 { cpu, _ := c.usedOn(h); return cpu }},
	}
}

func listCapacity(c *call) (object, error) {
	z, byZone := refer(c, c.zones, "zoneid")
	var rows []object
	for _, zone := range c.zones.all(func(row *zone) bool { return !byZone || row == z }) {
		for _, k := range capacityKinds() {
			if !c.has("type") || c.num("type", -1) == int64(k.number) {
				rows = append(rows, c.capacityObject(zone, k))
			}
		}
	}
	return pageOf(c, "capacity", rows, func(o object) object { return o })
}

func (c *call) capacityObject(z *zone, k capacityKind) object {
	var total, used int64
	for _, h := range c.hosts.all(func(h *host) bool { return h.zone == z }) {
		total += k.total(h)
		used += k.used(c, h)
	}
	share := 0.0
	if total > 0 {
		share = float64(used) * 100 / float64(total)
	}
	return obj("type", k.number, "name", k.name, "zoneid", z.id, "zonename", z.name, "capacityallocated", used, "capacityused", used,
		"capacitytotal", total, "percentused", fmt.Sprintf("%.2f", share))
}
