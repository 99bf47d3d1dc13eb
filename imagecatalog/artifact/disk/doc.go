// Package disk is what a guest sees of a disk image: bytes of a known number, most of which may never have been written.
package disk
