//go:build tools

// Package certmanager pins the cert-manager whose CRDs a management cluster serves; nothing of it is compiled.
package certmanager

import _ "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
