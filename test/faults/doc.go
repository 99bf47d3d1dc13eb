// Package faults lists what can go wrong with the calls of a life, and picks what a run of tests tries of it.
package faults
