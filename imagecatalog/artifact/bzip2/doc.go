// Package bzip2 decodes bzip2 files with several processors, also when the file is a single stream.
package bzip2
