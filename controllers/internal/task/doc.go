// Package task runs long work outside of reconciles: one run a key, a bounded number at a time, woken when it ends.
package task
