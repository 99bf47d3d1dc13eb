// Package image brings one image into one zone: it reconciles CloudStackImage.
package image
