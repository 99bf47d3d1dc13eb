// Package images writes small, valid disk images for the demo, the benchmarks and tests.
package images
