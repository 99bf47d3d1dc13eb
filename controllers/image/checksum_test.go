package image_test

import (
	"crypto/md5"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
)

func TestChecksumFile(t *testing.T) {
	const file = "qcow2-v3.qcow2"
	data, err := os.ReadFile(filepath.Join("..", "..", "test", "corpus", file))
	if err != nil {
		t.Fatal(err)
	}
	strong := fmt.Sprintf("%x  %s\n", sha256.Sum256(data), file)
	weak := fmt.Sprintf("%x  %s\n", md5.Sum(data), file)
	tests := map[string]struct {
		sums     string
		checksum infrav1.Checksum
		want     string // the reason of the condition Verified
	}{
		"the strongest is taken":                       {sums: weak + strong, want: infrav1.ReasonReady},
		"weak is allowed and not needed":               {sums: weak + strong, checksum: infrav1.Checksum{AllowWeak: true}, want: infrav1.ReasonReady},
		"weak is allowed and all there is":             {sums: weak, checksum: infrav1.Checksum{AllowWeak: true}, want: infrav1.ReasonWeakChecksum},
		"weak is asked for":                            {sums: weak + strong, checksum: infrav1.Checksum{Algorithm: "md5", AllowWeak: true}, want: infrav1.ReasonWeakChecksum},
		"the algorithm narrows the file to one of two": {sums: strong + strings.Repeat("0", 128) + "  " + file + "\n", checksum: infrav1.Checksum{Algorithm: "sha256"}, want: infrav1.ReasonReady},
		"the algorithm narrows the file to nothing":    {sums: weak, checksum: infrav1.Checksum{Algorithm: "sha256"}, want: infrav1.ReasonChecksumUnavailable},
		"weak is all there is and nobody allowed it":   {sums: weak, want: infrav1.ReasonWeakChecksum},
		"the strongest is wrong and no other is asked": {sums: strong + strings.Repeat("0", 128) + "  " + file + "\n", want: infrav1.ReasonChecksumMismatch},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.mirror.sideFile = tc.sums
			m := w.start(w.Client)
			img := w.image("node", file, func(i *infrav1.CloudStackImage) {
				i.Spec.Source.Checksum = tc.checksum
				i.Spec.Source.Checksum.URL = w.mirror.URL + "/sums"
			})
			got := m.drive(img, func(i *infrav1.CloudStackImage) bool {
				return ready(i) || i.Status.Progress != nil && i.Status.Progress.Phase == infrav1.PhaseFailed
			})
			if _, err := m.once(img); err == nil { // what was found out is still known when nothing is fetched any more
				got, _ = w.get(img)
			}
			if c := meta.FindStatusCondition(got.Status.Conditions, infrav1.ConditionVerified); c == nil || c.Reason != tc.want {
				t.Errorf("condition %+v, want reason %s", c, tc.want)
			}
		})
	}
}
