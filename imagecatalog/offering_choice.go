package imagecatalog

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
)

// Size is a service offering that a machine may get.
type Size struct {
	ID, Name string
	// CPUs, SpeedMHz and MemoryMiB are 0 where a custom offering leaves them to the machine.
	CPUs, SpeedMHz, MemoryMiB int64
	// Custom is set when the machine says CPUs and memory itself.
	Custom bool
	// MinCPUs to MaxMemoryMiB bound what a machine may say; 0 means no bound.
	MinCPUs, MaxCPUs, MinMemoryMiB, MaxMemoryMiB int64
	// RootDiskGiB is the size that the offering gives root disks; 0 when the template decides.
	RootDiskGiB int64
	// Local is set when root disks lie on the host.
	Local bool
	// Tags are what hosts and storage must have, as one text; empty when nothing is demanded.
	Tags string
}

// SizeRequest asks for a service offering. Exactly one of Minimum and the two names is given.
type SizeRequest struct {
	// ID and Name of the offering; when both are given they must agree.
	ID, Name string
	// Minimum asks for the smallest that has enough.
	Minimum *infrav1.OfferingMinimum
	// CPUs and MemoryMiB are what the machine says for a custom offering; 0 when it says nothing.
	CPUs, MemoryMiB int64
}

// SizeError says why no service offering was chosen.
type SizeError struct {
	// Reason is a condition reason of the api package.
	Reason string
	// Message names what was asked for and the candidates.
	Message string
}

func (e *SizeError) Error() string { return e.Message }

// ChooseSize chooses among the offerings of a zone and says in words how. With CPUs and MemoryMiB of the request a custom
// offering comes back with these filled in. The error is a *SizeError.
//
// A name must be that of one offering, or of several that differ in nothing but their id; then the first id is taken.
//
// For a minimum custom offerings do not count. The smallest is the one with the fewest processors, then the least memory;
// when only memory is asked for, the one with the least memory, then the fewest processors; then one on shared storage,
// one without tags, the slowest, and the first by name and id.
func ChooseSize(sizes []Size, r SizeRequest) (Size, string, error) {
	if r.Minimum != nil {
		return smallest(sizes, r.Minimum)
	}
	fitting := slices.DeleteFunc(slices.Clone(sizes), func(s Size) bool {
		if r.ID != "" {
			return !strings.EqualFold(s.ID, r.ID)
		}
		return s.Name != r.Name
	})
	switch {
	case len(fitting) == 0:
		return Size{}, "", &SizeError{infrav1.ReasonOfferingNotFound, fmt.Sprintf("there is no service offering with the %s; there are: %s", askedFor(r), namesOf(sizes))}
	case !alike(fitting):
		return Size{}, "", &SizeError{infrav1.ReasonOfferingAmbiguous, fmt.Sprintf("%d service offerings have the %s: give one of the ids %s", len(fitting), askedFor(r), idsOf(fitting))}
	case r.Name != "" && fitting[0].Name != r.Name:
		return Size{}, "", &SizeError{infrav1.ReasonOfferingNotFound, fmt.Sprintf("the service offering %s is named %q and not %q", r.ID, fitting[0].Name, r.Name)}
	}
	why := "the only one with the " + askedFor(r)
	if len(fitting) > 1 {
		why = fmt.Sprintf("the first of %d equal ones with the %s", len(fitting), askedFor(r))
	}
	chosen, err := complete(slices.MinFunc(fitting, func(a, b Size) int { return strings.Compare(a.ID, b.ID) }), r)
	return chosen, why, err
}

// alike says whether offerings differ in nothing but their ids.
func alike(sizes []Size) bool {
	return !slices.ContainsFunc(sizes, func(s Size) bool {
		s.ID = sizes[0].ID
		return s != sizes[0]
	})
}

func askedFor(r SizeRequest) string {
	if r.ID != "" {
		return "id " + r.ID
	}
	return "name " + strconv.Quote(r.Name)
}

// complete fills in what the machine says for a custom offering.
func complete(s Size, r SizeRequest) (Size, error) {
	if !s.Custom {
		return s, nil
	}
	s.CPUs, s.MemoryMiB = cmp.Or(s.CPUs, r.CPUs), cmp.Or(s.MemoryMiB, r.MemoryMiB)
	if s.CPUs == 0 || s.MemoryMiB == 0 {
		return s, &SizeError{infrav1.ReasonOfferingIncomplete,
			fmt.Sprintf("the service offering %q is a custom one: give cpuNumber and memory (in MiB) in details", s.Name)}
	}
	for _, bound := range []struct {
		what            string
		value, low, top int64
	}{{"cpuNumber", s.CPUs, s.MinCPUs, s.MaxCPUs}, {"memory", s.MemoryMiB, s.MinMemoryMiB, s.MaxMemoryMiB}} {
		if bound.value < bound.low || bound.top > 0 && bound.value > bound.top {
			return s, &SizeError{infrav1.ReasonOfferingIncomplete, fmt.Sprintf("the service offering %q takes a %s from %d to %s, and details have %d",
				s.Name, bound.what, bound.low, limitText(bound.top), bound.value)}
		}
	}
	return s, nil
}

func limitText(n int64) string {
	if n == 0 {
		return "any number"
	}
	return strconv.FormatInt(n, 10)
}

func smallest(sizes []Size, minimum *infrav1.OfferingMinimum) (Size, string, error) {
	memory := memoryMiB(minimum)
	var fitting []Size
	for _, s := range sizes {
		if !s.Custom && s.CPUs >= int64(minimum.CPU) && s.MemoryMiB >= memory {
			fitting = append(fitting, s)
		}
	}
	asked := minimumText(minimum, memory)
	if len(fitting) == 0 {
		return Size{}, "", &SizeError{infrav1.ReasonOfferingNotFound, fmt.Sprintf("no service offering of fixed size has at least %s; there are: %s", asked, namesOf(sizes))}
	}
	chosen := slices.MinFunc(fitting, func(a, b Size) int {
		cpus, mem := cmp.Compare(a.CPUs, b.CPUs), cmp.Compare(a.MemoryMiB, b.MemoryMiB)
		if minimum.CPU == 0 {
			cpus, mem = mem, cpus
		}
		return cmp.Or(cpus, mem, compareBool(a.Local, b.Local), compareBool(a.Tags != "", b.Tags != ""),
			cmp.Compare(a.SpeedMHz, b.SpeedMHz), strings.Compare(a.Name, b.Name), strings.Compare(a.ID, b.ID))
	})
	return chosen, fmt.Sprintf("the smallest of %d with at least %s", len(fitting), asked), nil
}

// compareBool puts false before true.
func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// memoryMiB rounds up: an offering counts whole MiB.
func memoryMiB(minimum *infrav1.OfferingMinimum) int64 {
	if minimum.Memory == nil {
		return 0
	}
	const mib = 1 << 20
	bytes := minimum.Memory.Value()
	if bytes%mib > 0 {
		return bytes/mib + 1
	}
	return bytes / mib
}

func minimumText(minimum *infrav1.OfferingMinimum, memory int64) string {
	var parts []string
	if minimum.CPU > 0 {
		parts = append(parts, fmt.Sprintf("%d CPUs", minimum.CPU))
	}
	if memory > 0 {
		parts = append(parts, fmt.Sprintf("%d MiB of memory", memory))
	}
	return strings.Join(parts, " and ")
}

// longestChoice bounds the candidates that a message names.
const longestChoice = 10

func namesOf(sizes []Size) string {
	return listOf(sizes, func(s Size) string { return s.Name })
}

func idsOf(sizes []Size) string {
	return listOf(sizes, func(s Size) string { return s.ID })
}

// listOf names offerings, with what they have.
func listOf(sizes []Size, name func(Size) string) string {
	items := make([]string, 0, len(sizes))
	for _, s := range sizes {
		has := fmt.Sprintf("%d CPUs, %d MiB", s.CPUs, s.MemoryMiB)
		if s.Custom {
			has = "custom"
		}
		items = append(items, fmt.Sprintf("%s (%s)", name(s), has))
	}
	slices.Sort(items)
	return shortList(slices.Compact(items))
}

func shortList(items []string) string {
	switch {
	case len(items) == 0:
		return "none"
	case len(items) > longestChoice:
		return fmt.Sprintf("%s and %d more", strings.Join(items[:longestChoice], ", "), len(items)-longestChoice)
	}
	return strings.Join(items, ", ")
}
