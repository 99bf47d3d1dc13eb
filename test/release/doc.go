// Package release writes what a release of the provider consists of, the way clusterctl expects to find it.
package release
