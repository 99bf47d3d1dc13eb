package main

import (
	"fmt"
	"os"
	"os/exec"
)

// tool is a program that decompresses bzip2.
type tool struct {
	name string
	// stdout decompresses a file to standard output.
	stdout func(file string) []string
}

// findTools returns the tools to compare with, those that are installed. Go's own decoder stands in when none is.
func findTools() []tool {
	var found []tool
	if path, err := exec.LookPath("lbzip2"); err == nil {
		found = append(found, tool{"lbzip2 -n2", func(file string) []string { return []string{path, "-n2", "-dc", file} }})
	}
	if path, err := exec.LookPath("bzip2"); err == nil {
		found = append(found, tool{"bzip2", func(file string) []string { return []string{path, "-dc", file} }})
	}
	if len(found) == 0 {
		found = append(found, tool{"compress/bzip2", func(file string) []string { return self("decode-std", file) }})
	}
	return found
}

// self is the command line that makes this program do a child's task.
func self(task string, args ...string) []string {
	path, err := os.Executable()
	if err != nil {
		path = os.Args[0]
	}
	return append([]string{path, childMark, task}, args...)
}

// ours is our decoder as a tool.
func ours(workers int) tool {
	return tool{fmt.Sprintf("capcat, %d workers", workers), func(file string) []string {
		return self("decode", fmt.Sprint(workers), file)
	}}
}
