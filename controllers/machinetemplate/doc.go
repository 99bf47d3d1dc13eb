// Package machinetemplate tells an autoscaler what the machines of a CloudStackMachineTemplate would have.
package machinetemplate
