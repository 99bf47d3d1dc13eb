// Package replay sends recorded exchanges with a CloudStack server to another one and tells where it answers differently.
package replay
