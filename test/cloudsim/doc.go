// Package cloudsim is CloudStack at the wire: an HTTP handler that answers as a management server of releases 4.19 to 4.22 does.
package cloudsim
