package cloudsim

// compute are the machines and what belongs to them.
type compute struct {
	machines           *table[*machine]
	volumes            *table[*volume]
	snapshots          *table[*snapshot]
	keyPairs           *table[*keyPair]
	userData           *table[*registeredData]
	instanceGroups     *table[*instanceGroup]
	securityGroups     *table[*securityGroup]
	securityRules      *table[*securityRule]
	kubernetesClusters *table[*kubernetesCluster]
}

func newCompute() compute {
	return compute{
		machines:           newTable[*machine]("vm"),
		volumes:            newTable[*volume]("volume"),
		snapshots:          newTable[*snapshot]("snapshot"),
		keyPairs:           newTable[*keyPair]("sshkeypair"),
		userData:           newTable[*registeredData]("userdata"),
		instanceGroups:     newTable[*instanceGroup]("instancegroup"),
		securityGroups:     newTable[*securityGroup]("securitygroup"),
		securityRules:      newTable[*securityRule]("securityrule"),
		kubernetesClusters: newTable[*kubernetesCluster]("kubernetescluster"),
	}
}

func (c *compute) tables() []lookuper {
	return []lookuper{c.machines, c.volumes, c.snapshots, c.keyPairs, c.userData, c.instanceGroups, c.securityGroups, c.securityRules, c.kubernetesClusters, nicLookup{c.machines}}
}
