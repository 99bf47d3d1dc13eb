// Package ova writes an appliance for VMware: one machine with one disk.
package ova
