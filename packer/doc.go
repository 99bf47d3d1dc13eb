// Package packer holds the recipes for node images, so that the program that builds them needs no copy beside it.
package packer
