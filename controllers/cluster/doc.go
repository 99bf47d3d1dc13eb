// Package cluster gives a CloudStackCluster its networks, its public address and the load balancer of its API.
//
// The machine controller makes control-plane VMs members of the load balancer, by the ids of the rules in the status.
package cluster
