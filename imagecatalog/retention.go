package imagecatalog

import (
	"fmt"
	"slices"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
)

// beyondRetention marks the entries whose patch version is not among the keep newest of its minor version, counted for
// each zone, operating system, architecture and hypervisor. A pre-release counts as the patch it precedes. Zero keeps all.
func beyondRetention(entries []Entry, keep int32) []bool {
	beyond := make([]bool, len(entries))
	if keep <= 0 {
		return beyond
	}
	for _, group := range byMinor(entries) {
		patches := make([]uint64, 0, len(group))
		for _, i := range group {
			patches = append(patches, entries[i].Version.sem.Patch())
		}
		slices.Sort(patches)
		patches = slices.Compact(patches)
		if len(patches) <= int(keep) {
			continue
		}
		oldest := patches[len(patches)-int(keep)]
		for _, i := range group {
			beyond[i] = entries[i].Version.sem.Patch() < oldest
		}
	}
	return beyond
}

type minorKey struct {
	zone         infrav1.ZoneReference
	os           infrav1.OSName
	arch         infrav1.Arch
	hypervisor   infrav1.Hypervisor
	major, minor uint64
}

// byMinor gives the positions of the entries of each minor version.
func byMinor(entries []Entry) map[minorKey][]int {
	groups := map[minorKey][]int{}
	for i := range entries {
		e := &entries[i]
		key := minorKey{e.Zone, e.OS, e.Arch, e.Hypervisor, e.Version.sem.Major(), e.Version.sem.Minor()}
		groups[key] = append(groups[key], i)
	}
	return groups
}

// beyondMessage says in words why retention does not keep an image.
func beyondMessage(keep int32, v Version) string {
	return fmt.Sprintf("retention keeps the newest %d patch versions of v%d.%d", keep, v.sem.Major(), v.sem.Minor())
}
