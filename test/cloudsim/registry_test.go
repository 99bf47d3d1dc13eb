package cloudsim

import (
	"slices"
	"testing"

	"github.com/capcat/capcat/test/cloudsim/internal/meta"
)

// TestRegistryIsDescribed checks that what the simulator carries out exists on a real server, and is a job exactly where it is one there.
func TestRegistryIsDescribed(t *testing.T) {
	catalog, err := meta.Load()
	if err != nil {
		t.Fatal(err)
	}
	if len(catalog.Names()) < 900 || !slices.IsSorted(catalog.Names()) {
		t.Errorf("%d APIs described, sorted %v", len(catalog.Names()), slices.IsSorted(catalog.Names()))
	}
	for name, spec := range registry() {
		api, ok := catalog.Get(name)
		switch {
		case !ok:
			t.Errorf("%s is not described", name)
			continue
		case (spec.sync == nil) == (spec.async == nil):
			t.Errorf("%s: exactly one of sync and async is to be set", name)
		case api.IsAsync != (spec.async != nil):
			t.Errorf("%s: described as async %v", name, api.IsAsync)
		case spec.async != nil && spec.class == "":
			t.Errorf("%s: a job without a class", name)
		}
		for _, p := range append(spec.required, spec.notEmpty...) {
			if _, ok := api.Param(p); !ok {
				t.Errorf("%s has no parameter %s", name, p)
			}
		}
		for p := range spec.fields {
			if _, ok := api.Param(p); !ok {
				t.Errorf("%s has no parameter %s", name, p)
			}
		}
	}
}
