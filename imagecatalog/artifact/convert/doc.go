// Package convert makes the file for a hypervisor from the disk that a build left.
package convert
