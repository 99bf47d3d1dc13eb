// Package machine makes a CloudStackMachine a VM: it resolves what the machine asks for, deploys, watches and destroys it.
//
// It also owns the membership of a control-plane VM in the load balancer of its cluster: it adds the VM, repairs the
// membership and removes the VM before it is destroyed. The cluster controller owns the rules themselves.
package machine
