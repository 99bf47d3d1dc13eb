//go:build tools

// Package kubectl pins the kubectl that a management cluster hands out.
package kubectl

import _ "k8s.io/kubernetes/cmd/kubectl"
