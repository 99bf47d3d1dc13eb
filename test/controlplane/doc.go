// Package controlplane finds or builds a kube-apiserver with its etcd and boots them for tests and for the demo.
package controlplane
