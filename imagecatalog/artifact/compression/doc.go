// Package compression undoes the outer layer of a download, found by its magic, within bounds.
package compression
