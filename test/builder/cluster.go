package builder

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
)

// ClusterPair is a Cluster and its infrastructure. Create the owner first, then Adopt it.
type ClusterPair struct {
	Owner *clusterv1.Cluster
	Infra *infrav1.CloudStackCluster
}

// Cluster is in the zone zone-kvm, on a network of its own name.
func Cluster(namespace, name string) ClusterPair {
	return ClusterPair{
		Owner: &clusterv1.Cluster{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
			Spec: clusterv1.ClusterSpec{
				InfrastructureRef: clusterv1.ContractVersionedObjectReference{APIGroup: infrav1.GroupName, Kind: "CloudStackCluster", Name: name},
			},
		},
		Infra: &infrav1.CloudStackCluster{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{clusterv1.ClusterNameLabel: name}},
			Spec: infrav1.CloudStackClusterSpec{
				IdentityRef: infrav1.IdentityReference{Name: Secret}, Zone: &infrav1.ZoneReference{Name: "zone-kvm"},
			},
		},
	}
}

// Adopt makes the owner, which has a UID by now, the owner of the infrastructure, as Cluster API does.
func (p ClusterPair) Adopt() {
	p.Infra.OwnerReferences = []metav1.OwnerReference{
		{APIVersion: clusterv1.GroupVersion.String(), Kind: "Cluster", Name: p.Owner.Name, UID: p.Owner.UID},
	}
}

// MachineSet is a Machine, its bootstrap data and its infrastructure. Create the owner and the data first, then Adopt.
type MachineSet struct {
	Owner     *clusterv1.Machine
	Bootstrap *corev1.Secret
	Infra     *infrav1.CloudStackMachine
}

// MachineOption changes one thing of a machine.
type MachineOption func(MachineSet)

// Machine is a worker of the cluster with the version Version and one processor at least.
func Machine(namespace, cluster, name string, options ...MachineOption) MachineSet {
	labels := map[string]string{clusterv1.ClusterNameLabel: cluster}
	bootstrap := name + "-bootstrap"
	m := MachineSet{
		Owner: &clusterv1.Machine{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels},
			Spec: clusterv1.MachineSpec{
				ClusterName: cluster, Version: Version, Bootstrap: clusterv1.Bootstrap{DataSecretName: &bootstrap},
				InfrastructureRef: clusterv1.ContractVersionedObjectReference{APIGroup: infrav1.GroupName, Kind: "CloudStackMachine", Name: name},
			},
		},
		Bootstrap: &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: bootstrap, Labels: maps.Clone(labels)},
			Data:       map[string][]byte{"value": []byte("#cloud-config\nhostname: " + name + "\n"), "format": []byte("cloud-config")},
		},
		Infra: &infrav1.CloudStackMachine{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: maps.Clone(labels)},
			Spec:       infrav1.CloudStackMachineSpec{Offering: infrav1.OfferingReference{Minimum: &infrav1.OfferingMinimum{CPU: 1}}},
		},
	}
	for _, change := range options {
		change(m)
	}
	return m
}

// ControlPlane makes the machine one of the control plane.
func ControlPlane(m MachineSet) {
	m.Owner.Labels[clusterv1.MachineControlPlaneLabel] = ""
	m.Infra.Labels[clusterv1.MachineControlPlaneLabel] = ""
}

// Adopt makes the Machine, which has a UID by now, the owner of the infrastructure, as Cluster API does.
func (m MachineSet) Adopt() {
	m.Infra.OwnerReferences = []metav1.OwnerReference{
		{APIVersion: clusterv1.GroupVersion.String(), Kind: "Machine", Name: m.Owner.Name, UID: m.Owner.UID},
	}
}
