// Package rig gives tests of one controller a simulated cloud and a namespace of an API server to work in.
package rig
