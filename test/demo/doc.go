// Command demo goes the whole way on this machine: images into the zones of a simulated CloudStack, clusterctl init, a cluster that
// comes up from them, an upgrade by one field, and the end, after which nothing is left.
package main
