// Package catalog turns a TemplateCatalog into one CloudStackImage for every image and zone.
package catalog
