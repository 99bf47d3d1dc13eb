//go:build tools

// Package apiserver pins the kube-apiserver that the local control plane runs.
package apiserver

import _ "k8s.io/kubernetes/cmd/kube-apiserver"
