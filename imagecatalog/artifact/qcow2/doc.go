// Package qcow2 reads and writes qcow2 images that stand alone: no backing file, no encryption, no external data.
package qcow2
