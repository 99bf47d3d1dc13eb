// Package unpack expands compressed files as the tools of the storage VM do, faults and words included.
package unpack
