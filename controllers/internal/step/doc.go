// Package step runs the phases of a reconcile in order and turns their one outcome into what controller-runtime does next.
package step
