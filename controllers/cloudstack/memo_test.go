package cloudstack_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/capcat/capcat/controllers/cloudstack"
)

func TestAnswersAreKeptWithinABound(t *testing.T) {
	s := newStub(t)
	s.on("listSSHKeyPairs", func(w http.ResponseWriter, r *http.Request) {
		name := r.Form.Get("name")
		says(200, fmt.Sprintf(`{"listsshkeypairsresponse":{"count":1,"sshkeypair":[{"id":"i","name":%q}]}}`, name))(w, r)
	})
	cloud := session(t, s)
	ask := func(n int) {
		if _, err := cloud.FindSSHKey(t.Context(), cloudstack.Owner{}, fmt.Sprintf("key-%d", n)); err != nil {
			t.Fatal(err)
		}
	}
	for n := range 1500 {
		ask(n)
	}
	ask(1499)
	if got := len(s.calls("listSSHKeyPairs")); got != 1500 {
		t.Errorf("%d calls for 1500 questions and one again, want 1500", got)
	}
	for n := range 1500 {
		ask(n)
	}
	if got := len(s.calls("listSSHKeyPairs")); got < 2000 {
		t.Errorf("%d calls for 1500 questions asked twice: too many answers are kept", got)
	}
}
