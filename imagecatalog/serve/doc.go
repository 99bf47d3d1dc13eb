// Package serve hands blobs out over HTTP under expiring names, the way CloudStack's secondary storage VM wants them.
package serve
