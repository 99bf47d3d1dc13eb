// Package store keeps blobs on disk under the name of their SHA-256.
package store
