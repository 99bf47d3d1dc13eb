package imagecatalog

import (
	"fmt"
	"slices"
	"strings"
)

// mostObstacles bounds how many minor versions in the way are told: the wanted version is free text, and its minor any number.
const mostObstacles = 8

// PathError says why there is no way from a version to another.
type PathError struct {
	// From and To are the ends of the way.
	From, To Version
	// Message in words: what is in the way.
	Message string
	// Lacks are what keeps the newest version of each minor in the way from being used; of many minors, of the first.
	Lacks []Lack
}

func (e *PathError) Error() string {
	return fmt.Sprintf("no way from %s to %s: %s", e.From, e.To, e.Message)
}

// Path gives the versions that a cluster is upgraded by, one after the other: the newest patch of each minor version between
// the two that is ready at all sites of all pools, and at last the one that is wanted, be it ready or not. It is empty when
// nothing is to be done. The error is a *PathError.
//
// Between two versions none is a pre-release. They have builds if and only if the last one has.
func (s *Stock) Path(pools []Pool, from, to Version) ([]Version, error) {
	failure := &PathError{From: from, To: to}
	switch {
	case from.Equal(to):
		return nil, nil
	case to.sem.LessThan(from.sem):
		failure.Message = "a version cannot be taken back"
		return nil, failure
	case from.sem.Major() != to.sem.Major():
		failure.Message = "they differ in the major version"
		return nil, failure
	case to.sem.Minor() > from.sem.Minor()+1 && len(pools) == 0:
		failure.Message = "no machine of the cluster is made of an image that is looked up by its version, so nothing tells the versions between: upgrade one minor version at a time"
		return nil, failure
	}
	var path []Version
	var obstacles []string
	for minor := from.sem.Minor() + 1; minor < to.sem.Minor(); minor++ {
		if len(obstacles) == mostObstacles {
			obstacles = append(obstacles, fmt.Sprintf("and more up to v%d.%d", to.sem.Major(), to.sem.Minor()-1))
			break
		}
		best, lacks := s.bestOf(pools, from.sem.Major(), minor, to.Build() != "")
		switch {
		case best != nil:
			path = append(path, *best)
		case len(lacks) > 0:
			failure.Lacks = append(failure.Lacks, lacks...)
			obstacles = append(obstacles, DescribeLacks(lacks))
		default:
			obstacles = append(obstacles, fmt.Sprintf("there is no image of v%d.%d", from.sem.Major(), minor))
		}
	}
	if len(obstacles) > 0 {
		failure.Message = fmt.Sprintf("each minor version between needs a version that is ready everywhere; %s", strings.Join(obstacles, "; "))
		return nil, failure
	}
	return append(path, to), nil
}

// bestOf gives the newest version of a minor that is ready everywhere, or what the newest of all lacks.
func (s *Stock) bestOf(pools []Pool, major, minor uint64, builds bool) (*Version, []Lack) {
	versions := s.releases(major, minor, builds)
	slices.Reverse(versions)
	var newest []Lack
	for i, v := range versions {
		lacks := s.Lacking(pools, v)
		if len(lacks) == 0 {
			return &v, nil
		}
		if i == 0 {
			newest = lacks
		}
	}
	return nil, newest
}

// releases are the versions of a minor that the images know and that are no pre-releases, in order. Without builds those that
// have one are asked for without it.
func (s *Stock) releases(major, minor uint64, builds bool) []Version {
	var versions []Version
	for i := range s.images {
		v, err := ParseVersion(string(s.images[i].Spec.KubernetesVersion))
		if err != nil || v.sem.Major() != major || v.sem.Minor() != minor || v.sem.Prerelease() != "" || builds && v.Build() == "" {
			continue
		}
		if !builds {
			v = v.release()
		}
		versions = append(versions, v)
	}
	slices.SortFunc(versions, Version.Compare)
	return slices.CompactFunc(versions, Version.Equal)
}
