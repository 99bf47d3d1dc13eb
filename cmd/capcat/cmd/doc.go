// Package cmd holds the verbs of capcat: each parses its flags, calls a library and prints to the writer it was given.
package cmd
