// Package management runs a management cluster of Cluster API on this machine without containers.
package management
