// Command bench measures the bzip2 decoder and the whole path of an image against the usual tools.
//
// It makes its inputs itself, from the files of the Go installation: a qcow2 image, an OVA and zeros, each as a single bzip2
// stream. Every program, ours included, runs as a process of its own with its output thrown away. They take turns, and figures
// are compared round by round, so that they hold on a machine that is busy with other things.
package main
