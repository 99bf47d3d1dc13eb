// Package e2e tells user stories: the manager as a process, against a real API server and the CloudStack simulator.
package e2e
