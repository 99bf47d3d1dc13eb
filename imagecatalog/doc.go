// Package imagecatalog decides, without side effects, what a template catalog means.
package imagecatalog
