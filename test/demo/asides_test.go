package main

import (
	"bytes"
	"testing"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestAsidesStandOnLinesOfTheirOwn(t *testing.T) {
	var b bytes.Buffer
	b.WriteString("3/6  a control plane ... ")
	if n, err := (asides{&b}).Write([]byte("building\nbuilt\n")); n != len("building\nbuilt\n") || err != nil {
		t.Fatalf("got %d, %v", n, err)
	}
	if got, want := b.String(), "3/6  a control plane ... \n       building \n       built "; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestVerdict(t *testing.T) {
	ready := func(message string) []metav1.Condition {
		return []metav1.Condition{{Type: infrav1.ConditionReady, Status: metav1.ConditionFalse, Reason: infrav1.ReasonContentRejected, Message: message}}
	}
	for name, c := range map[string]struct {
		status infrav1.CloudStackImageStatus
		want   string
	}{
		"nothing yet":      {infrav1.CloudStackImageStatus{}, "nothing has been said about it"},
		"code in message":  {infrav1.CloudStackImageStatus{Conditions: ready("BackingFile: no"), ContentCode: "BackingFile"}, "ContentRejected: BackingFile: no"},
		"code is added":    {infrav1.CloudStackImageStatus{Conditions: ready("no"), ContentCode: "BackingFile"}, "ContentRejected/BackingFile: no"},
		"there is no code": {infrav1.CloudStackImageStatus{Conditions: ready("no")}, "ContentRejected: no"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := verdict(&infrav1.CloudStackImage{Status: c.status}); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
