// Package stage sets up what a user story needs on one machine: an image mirror, a simulated CloudStack and the manager as processes.
package stage
