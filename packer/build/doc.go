// Package build makes a node image: it runs the Packer recipes in a virtual machine and turns the disk into what a
// TemplateCatalog names.
package build
