// Package fetch brings one file from an ordered list of mirrors onto the disk, bounded, resumable and verified.
package fetch
