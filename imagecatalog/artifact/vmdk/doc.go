// Package vmdk writes streamOptimized VMDK disks, the kind that an OVA carries.
package vmdk
