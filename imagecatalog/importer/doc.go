// Package importer moves one image through fetch, verify, expand and inspect into the store, in one pass.
package importer
