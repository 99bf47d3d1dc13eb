// Package vhd writes dynamic VHD images as XenServer's own tools write them.
package vhd
