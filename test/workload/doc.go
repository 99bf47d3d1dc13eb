// Package workload is what runs in the simulator's virtual machines: cloud-init, kubeadm, kubelets and the API servers of workload clusters, from user data alone.
package workload
