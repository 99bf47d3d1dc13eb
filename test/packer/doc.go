// Package packer proves that an image which the recipes make is a node: it makes one from Debian packages alone, without the
// internet, boots it, and brings it into simulated zones.
package packer
