package cloudstack_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/capcat/capcat/controllers/cloudstack"
)

func TestTagLife(t *testing.T) {
	s := newSite(t)
	ctx, me, kind := t.Context(), cloudstack.Owner{}, cloudstack.TagsOfNetwork
	twin := s.makeNetwork(t, "twin")
	job, err := s.CreateTags(ctx, kind, map[string]string{mark: "me", "other": "x"}, s.network, twin)
	s.await(t, job, err)
	for _, id := range []string{s.network, twin} {
		got, err := s.Tags(ctx, me, kind, id)
		if diff := cmp.Diff(map[string]string{mark: "me", "other": "x"}, got); err != nil || diff != "" {
			t.Errorf("tags: %v (-want +got):\n%s", err, diff)
		}
	}

	ends := func(job cloudstack.Job, err error) cloudstack.Kind {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		s.clock.Step(20 * time.Second)
		outcome, err := s.JobOutcome(ctx, job, "")
		if err != nil || outcome.Err == nil {
			t.Fatalf("the job is %+v, %v, want a failure", outcome, err)
		}
		return outcome.Err.Kind
	}
	if kind := ends(s.CreateTags(ctx, kind, map[string]string{mark: "you"}, twin)); kind != cloudstack.Conflict {
		t.Errorf("the same key again is %s, want Conflict", kind)
	}
	if kind := ends(s.DeleteTags(ctx, kind, map[string]string{mark: "you"}, twin)); kind != cloudstack.NotFound {
		t.Errorf("removing another value is %s, want NotFound", kind)
	}

	job, err = s.DeleteTags(ctx, kind, map[string]string{mark: "me"}, twin)
	s.await(t, job, err)
	got, err := s.Tags(ctx, me, kind, twin)
	if diff := cmp.Diff(map[string]string{"other": "x"}, got); err != nil || diff != "" {
		t.Errorf("tags after one was removed: %v (-want +got):\n%s", err, diff)
	}
	got, err = s.Tags(ctx, me, kind, "11111111-2222-3333-4444-555555555555")
	if err != nil || len(got) > 0 {
		t.Errorf("tags of nothing: %v, %v", got, err)
	}
}
