package build

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// part is something that the image holds, as the recipe lists it.
type part struct {
	Kind    string // system, kernel, program, image, deb or rpm
	Name    string
	Version string
	Arch    string
	Licence string
	Bytes   int64
}

// parseContents reads the list that the step "contents" wrote: six columns with tabs between.
func parseContents(r io.Reader) ([]part, error) {
	var parts []part
	scan := bufio.NewScanner(r)
	scan.Buffer(nil, 1<<20)
	for n := 1; scan.Scan(); n++ {
		f := strings.Split(scan.Text(), "\t")
		if len(f) != 6 || f[0] == "" || f[1] == "" {
			return nil, fmt.Errorf("line %d of the list of contents has not six columns", n)
		}
		size, err := strconv.ParseInt(f[5], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("line %d of the list of contents: %w", n, err)
		}
		parts = append(parts, part{Kind: f[0], Name: f[1], Version: f[2], Arch: f[3], Licence: f[4], Bytes: size})
	}
	return parts, scan.Err()
}
