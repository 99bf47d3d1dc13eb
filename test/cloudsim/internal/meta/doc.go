// Package meta knows every API of a CloudStack 4.22 server: its parameters and the fields of its reply.
package meta
