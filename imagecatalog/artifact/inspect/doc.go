// Package inspect says whether bytes are a disk image that CloudStack can take, by bounded parsers that read nothing else.
package inspect
