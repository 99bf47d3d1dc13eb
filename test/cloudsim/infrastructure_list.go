package cloudsim

func listPods(c *call) (object, error) {
	wanted, inZone := refersTo(c, c.pods, "id"), refersTo(c, c.zones, "zoneid")
	rows := c.pods.all(func(p *pod) bool {
		return wanted(p) && inZone(p.zone) && allOf(c.text("name", p.name), c.keyword(p.name), c.text("allocationstate", "Enabled"))
	})
	return pageOf(c, "pod", rows, func(p *pod) object {
		return obj("id", p.id, "name", p.name, "zoneid", p.zone.id, "zonename", p.zone.name, "gateway", "172.16.15.1", "netmask", "255.255.255.0",
			"allocationstate", "Enabled", "hasannotations", false)
	})
}

func listClusters(c *call) (object, error) {
	wanted, inZone, inPod := refersTo(c, c.clusters, "id"), refersTo(c, c.zones, "zoneid"), refersTo(c, c.pods, "podid")
	rows := c.clusters.all(func(k *cluster) bool {
		return wanted(k) && inZone(k.zone) && inPod(k.pod) && allOf(c.text("name", k.name), c.keyword(k.name), c.text("hypervisor", k.hypervisor),
			c.text("allocationstate", "Enabled"), c.text("clustertype", "CloudManaged"))
	})
	return pageOf(c, "cluster", rows, func(k *cluster) object {
		o := obj("id", k.id, "name", k.name, "podid", k.pod.id, "podname", k.pod.name, "zoneid", k.zone.id, "zonename", k.zone.name, "hypervisortype", k.hypervisor,
			"clustertype", "CloudManaged", "allocationstate", "Enabled", "managedstate", "Managed", "cpuovercommitratio", "1.0", "memoryovercommitratio", "1.0")
		if c.knows("4.20") {
			o = o.with("arch", "x86_64")
		}
		return o.with("hasannotations", false)
	})
}

func listImageStores(c *call) (object, error) {
	wanted, inZone := refersTo(c, c.imageStores, "id"), refersTo(c, c.zones, "zoneid")
	rows := c.imageStores.all(func(s *imageStore) bool {
		return wanted(s) && inZone(s.zone) && allOf(c.text("name", s.name), c.keyword(s.name), c.text("provider", "NFS"))
	})
	return pageOf(c, "imagestore", rows, func(s *imageStore) object {
		return obj("id", s.id, "zoneid", s.zone.id, "zonename", s.zone.name, "name", s.name, "url", "nfs://storage.sim.example.org/"+s.name, "protocol", "nfs",
			"providername", "NFS", "scope", "ZONE", "readonly", false, "hasannotations", false)
	})
}

// listRegions shows the one region of the server.
func listRegions(c *call) (object, error) {
	if !c.number("id", 1) || !c.text("name", "Local") {
		return object{}, nil
	}
	return pageOf(c, "region", []int{1}, func(id int) object {
		return obj("id", id, "name", "Local", "endpoint", "http://localhost:8080/client/", "gslbserviceenabled", true, "portableipserviceenabled", false)
	})
}
