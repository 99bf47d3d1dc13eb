package cloudsim

import (
	"slices"
	"strings"
	"time"
)

// externalManaged is the type of Kubernetes clusters that others manage and the server only lists.
const externalManaged = "ExternalManaged"

// kubernetesCluster is a Kubernetes cluster that is managed elsewhere.
type kubernetesCluster struct {
	base
	owner       *account
	name, about string
	zone        *zone
	network     *network
	offering    *offering
	control     int // control nodes when members were last changed, and others
	workers     int
	changed     bool // members were changed
	members     []*kubernetesMember
}

// kubernetesMember is a machine of such a cluster.
type kubernetesMember struct {
	machine *machine
	control bool
}

func (k *kubernetesCluster) member(m *machine) *kubernetesMember {
	for _, x := range k.members {
		if x.machine == m {
			return x
		}
	}
	return nil
}

// recount counts the control nodes after a change of members.
func (k *kubernetesCluster) recount() {
	k.control, k.workers, k.changed = 0, 0, true
	for _, x := range k.members {
		if x.control {
			k.control++
		} else {
			k.workers++
		}
	}
}

func createKubernetesCluster(c *call) (*work, error) {
	kind := c.str("clustertype")
	switch {
	case kind == "" || strings.EqualFold(kind, "CloudManaged"):
		return nil, wrapped(530, "Global setting endpoint.url has to be set to the Management Server's API end point")
	case !strings.EqualFold(kind, externalManaged):
		return nil, invalid("Unable to resolve cluster type %s to a supported value (CloudManaged, ExternalManaged)", kind)
	}
	owner, err := c.ownerOf()
	if err != nil {
		return nil, err
	}
	z, _ := refer(c, c.zones, "zoneid")
	n, _ := refer(c, c.networks, "networkid")
	if z == nil {
		return nil, invalid("Unable to find zone by ID: %s", c.str("zoneid"))
	}
	if n != nil {
		if err := c.mayDeployOn(n, owner); err != nil {
			return nil, err
		}
	}
	k := &kubernetesCluster{base: c.newBase(), owner: owner, name: c.str("name"), about: c.str("description"), zone: z, network: n, control: 1}
	k.offering, _ = refer(c, c.serviceOfferings, "serviceofferingid")
	if k.about == "" {
		k.about = k.name
	}
	c.kubernetesClusters.insert(k)
	return &work{created: k.id, instanceType: "KubernetesCluster", instanceID: k.id, takes: 200 * time.Millisecond, run: func() (object, error) {
		return obj("kubernetescluster", c.kubernetesObject(k)), nil
	}}, nil
}

func (c *call) kubernetesObject(k *kubernetesCluster) object {
	o := obj("id", k.id, "name", k.name, "description", k.about, "zoneid", k.zone.id, "zonename", k.zone.name)
	cpus, memory := int64(0), int64(0)
	if f := k.offering; f != nil {
		nodes := int64(k.control + k.workers)
		cpus, memory = nodes*f.num("cpunumber"), nodes*f.num("memory")
		o = append(o, obj("serviceofferingid", f.id, "serviceofferingname", f.name)...)
	}
	o = o.with("etcdnodes", 0)
	if k.network != nil {
		o = append(o, obj("networkid", k.network.id, "associatednetworkname", k.network.name)...)
	}
	o = append(o, c.ownerFields(k.owner, "account")...)
	o = append(o, c.domainFirst(k.owner)...)
	machines := []object{}
	for _, x := range k.members {
		if x.machine.live() {
			machines = append(machines, append(obj("isexternalnode", false, "isetcdnode", false),
				c.machineParts(x.machine, sections{"nics": true}).without("domainpath", "ipaddress", "hasannotations", "jobid", "jobstatus")...))
		}
	}
	o = append(o, obj("masternodes", k.control, "controlnodes", k.control, "size", k.workers, "state", "Running", "cpunumber", formatInt(cpus), "memory", formatInt(memory), "endpoint", "",
		"virtualmachines", machines)...)
	if k.network != nil {
		if ip := c.sourceNATOf(k.network); ip != nil {
			o = append(o, obj("ipaddress", ip.address.String(), "ipaddressid", ip.id)...)
		}
	}
	if k.changed {
		o = o.with("etcdips", object{})
	}
	return append(o, obj("autoscalingenabled", false, "csienabled", false, "clustertype", externalManaged, "created", stamp(k.created), "hasannotations", false)...)
}

func listKubernetesClusters(c *call) (object, error) {
	owner, err := c.scopeOf(scopeOwn)
	if err != nil {
		return nil, err
	}
	wanted := refersTo(c, c.kubernetesClusters, "id")
	rows := c.kubernetesClusters.all(func(k *kubernetesCluster) bool {
		return owner(k.owner) && wanted(k) && allOf(c.text("name", k.name), c.text("state", "Running"), c.choice("clustertype", externalManaged), c.keyword(k.name))
	})
	return pageOf(c, "kubernetescluster", rows, c.kubernetesObject)
}

// ownKubernetes finds the cluster of a command. This service hides the kind of a refusal.
func (c *call) ownKubernetes() (*kubernetesCluster, error) {
	k, _ := refer(c, c.kubernetesClusters, "id")
	switch {
	case k == nil || !k.live():
		return nil, wrapped(530, "Invalid Kubernetes cluster ID specified")
	case c.mayUse(k.owner) != nil:
		return nil, wrapped(530, noPermission)
	}
	return k, nil
}

func addVirtualMachinesToKubernetesCluster(c *call) (object, error) {
	k, err := c.ownKubernetes()
	if err != nil {
		return nil, err
	}
	machines, _ := referAll(c, c.machines, "virtualmachineids")
	var fresh []*kubernetesMember
	for _, m := range machines {
		switch {
		case k.member(m) != nil:
			continue
		case !m.live():
			return nil, wrapped(530, "Invalid VM ID specified")
		case c.mayUse(m.owner) != nil:
			return nil, wrapped(530, noPermission)
		}
		fresh = append(fresh, &kubernetesMember{m, c.flag("iscontrolnode")})
	}
	k.members = append(k.members, fresh...)
	k.recount()
	return success(), nil
}

func removeVirtualMachinesFromKubernetesCluster(c *call) (object, error) {
	k, err := c.ownKubernetes()
	if err != nil {
		return nil, err
	}
	machines, _ := referAll(c, c.machines, "virtualmachineids")
	for _, m := range machines {
		if !m.live() && k.member(m) == nil {
			return nil, internal("Unable to find VM by ID %d", m.db)
		}
	}
	return whole("removevirtualmachinesfromkubernetesclusterresponse", machines, func(m *machine) object {
		x := k.member(m)
		if x == nil {
			return obj("id", m.id, "success", false, "displaytext", "VM is not part of the cluster")
		}
		k.members = slices.DeleteFunc(k.members, func(o *kubernetesMember) bool { return o == x })
		k.recount()
		return obj("id", m.id, "success", true)
	})
}

// notForExternal is a job that the server does not do for clusters that others manage.
func notForExternal(verb string) func(c *call) (*work, error) {
	return func(c *call) (*work, error) {
		return &work{takes: 500 * time.Millisecond, run: func() (object, error) {
			k, err := c.ownKubernetes()
			if err != nil {
				return nil, err
			}
			return nil, wrapped(530, "%s kubernetes cluster is not supported for an externally managed cluster (%s)", verb, k.name)
		}}, nil
	}
}

func getKubernetesClusterConfig(c *call) (object, error) {
	k, err := c.ownKubernetes()
	if err != nil {
		return nil, err
	}
	return nil, wrapped(530, "Config not found for Kubernetes cluster : %s", k.name)
}

func deleteKubernetesCluster(c *call) (*work, error) {
	return &work{instanceType: "KubernetesCluster", instanceID: c.str("id"), takes: 500 * time.Millisecond, run: func() (object, error) {
		k, _ := refer(c, c.kubernetesClusters, "id")
		switch {
		case k == nil || !k.live():
			return nil, wrapped(530, "Invalid cluster id specified")
		case c.mayUse(k.owner) != nil:
			return nil, wrapped(530, noPermission)
		case c.flag("expunge") && !c.mayExpunge():
			return nil, wrapped(530, "Parameter expunge can be passed by Admin only. Or when the allow.user.expunge.recover.vm key is set.")
		}
		k.removed = c.now()
		return success(), nil
	}}, nil
}
