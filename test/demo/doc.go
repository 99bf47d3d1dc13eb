// Command demo brings real images into a simulated CloudStack of three zones, with everything on this machine: a control plane,
// the simulator, an image mirror and the manager.
package main
