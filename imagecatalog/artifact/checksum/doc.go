// Package checksum reads checksum files in the forms that people publish.
package checksum
