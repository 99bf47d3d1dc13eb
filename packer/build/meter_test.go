package build

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/capcat/capcat/imagecatalog/artifact/convert"
)

func TestMeterTellsNowAndThen(t *testing.T) {
	c := clocktesting.NewFakePassiveClock(time.Unix(0, 0))
	var told []string
	m := newMeter(func(e Event) { told = append(told, e.Note) }, c)
	for second := range int64(40) {
		c.SetTime(time.Unix(second, 0))
		m.at(convert.Checking, 0, 0)
		m.at(convert.Compressing, second<<30, 40<<30)
	}
	if diff := cmp.Diff([]string{"compressing: 37 %", "compressing: 75 %"}, told); diff != "" {
		t.Error(diff)
	}
}
