// Package index is the signed list of the images that a place offers.
package index
