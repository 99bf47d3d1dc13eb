// Package catalogfile puts entries into the text of a file with a TemplateCatalog, and leaves everything else in it as it is.
package catalogfile
