//go:build tools

// Package etcd pins the etcd that the local control plane runs.
package etcd

import _ "go.etcd.io/etcd/server/v3"
