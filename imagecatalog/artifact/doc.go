// Package artifact is the vocabulary of the byte world: reason codes, errors with a retry class, formats, compressions,
// digests and limits, shared by the packages that fetch, verify, expand, inspect, store and serve images.
package artifact
