package catalog

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
)

func TestMatters(t *testing.T) {
	tests := map[string]struct {
		change func(*infrav1.CloudStackImage)
		want   bool
	}{
		"nothing":          {change: func(*infrav1.CloudStackImage) {}},
		"bytes":            {change: func(i *infrav1.CloudStackImage) { i.Status.Progress.Bytes = 7 }},
		"resource version": {change: func(i *infrav1.CloudStackImage) { i.ResourceVersion = "2" }},
		"phase":            {change: func(i *infrav1.CloudStackImage) { i.Status.Progress.Phase = infrav1.PhaseFailed }, want: true},
		"readiness":        {change: func(i *infrav1.CloudStackImage) { i.Status.Conditions[0].Status = metav1.ConditionTrue }, want: true},
		"reason":           {change: func(i *infrav1.CloudStackImage) { i.Status.Conditions[0].Reason = "Other" }, want: true},
		"message":          {change: func(i *infrav1.CloudStackImage) { i.Status.Conditions[0].Message = "Other" }},
		"first content":    {change: func(i *infrav1.CloudStackImage) { i.Status.ContentDigest = "sha256:00" }, want: true},
		"spec":             {change: func(i *infrav1.CloudStackImage) { i.Generation++ }, want: true},
		"a label":          {change: func(i *infrav1.CloudStackImage) { i.Labels = nil }, want: true},
		"deletion":         {change: func(i *infrav1.CloudStackImage) { now := metav1.NewTime(time.Unix(9, 0)); i.DeletionTimestamp = &now }, want: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			before := &infrav1.CloudStackImage{}
			before.Labels = map[string]string{infrav1.LabelCatalog: "c"}
			before.Status.Conditions = []metav1.Condition{{Type: infrav1.ConditionReady, Status: metav1.ConditionFalse, Reason: "Fetching"}}
			before.Status.Progress = &infrav1.ImageProgress{Phase: infrav1.PhaseFetching}
			now := before.DeepCopy()
			tc.change(now)
			if got := matters(before, now); got != tc.want {
				t.Errorf("matters = %v, want %v", got, tc.want)
			}
		})
	}
}
