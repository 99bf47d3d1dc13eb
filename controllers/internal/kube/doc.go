// Package kube holds what every reconciler does with the Kubernetes API: read credentials, save changes, wake objects, tell of transitions.
package kube
