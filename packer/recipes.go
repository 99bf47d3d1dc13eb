package packer

import (
	"embed"
	"io/fs"
)

//go:embed *.pkr.hcl os kubernetes provision
var recipes embed.FS

// Recipes is the folder of recipes as it was when the program was built.
func Recipes() fs.FS { return recipes }
