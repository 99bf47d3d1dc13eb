package image

import (
	"context"
	"net/netip"
	"strings"
	"testing"
	"time"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/controllers/cloudstack"
	"github.com/capcat/capcat/imagecatalog/artifact"
	"github.com/capcat/capcat/imagecatalog/importer"
)

func TestChooseDelivery(t *testing.T) {
	const pull, serve, upload = infrav1.DeliveryPull, infrav1.DeliveryServe, infrav1.DeliveryUpload
	all, none := means{pull: "http://h/i", serve: true}, means{noPull: "it redirects"}
	tests := map[string]struct {
		wanted infrav1.DeliveryMode
		failed []infrav1.DeliveryMode
		means  means
		want   infrav1.DeliveryMode
	}{
		"Auto pulls first":                     {infrav1.DeliveryAuto, nil, all, pull},
		"Auto serves after a failed pull":      {infrav1.DeliveryAuto, []infrav1.DeliveryMode{pull}, all, serve},
		"Auto uploads after both":              {infrav1.DeliveryAuto, []infrav1.DeliveryMode{pull, serve}, all, upload},
		"Auto gives up after all three":        {infrav1.DeliveryAuto, []infrav1.DeliveryMode{pull, serve, upload}, all, ""},
		"Auto uploads when nothing else works": {infrav1.DeliveryAuto, nil, none, upload},
		"Pull is taken by its word":            {pull, []infrav1.DeliveryMode{pull}, all, pull},
		"Pull of what cannot be pulled":        {pull, nil, none, ""},
		"Serve without an address":             {serve, nil, none, ""},
		"Serve":                                {serve, nil, all, serve},
		"Upload":                               {upload, nil, all, upload},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, why := chooseDelivery(tc.wanted, tc.failed, tc.means)
			if got != tc.want || (got == "") != (why != "") {
				t.Errorf("chooseDelivery() = %q because %q, want %q", got, why, tc.want)
			}
		})
	}
}

func TestPullOfAHiddenHostNamesTheFlag(t *testing.T) {
	img := &infrav1.CloudStackImage{}
	img.Spec.Source = &infrav1.ImageSource{URLs: []infrav1.SourceURL{"http://images.internal/i.qcow2"}}
	r := &Reconciler{options: Options{PublicHost: func(context.Context, string) bool { return false }}}
	m := r.meansFor(t.Context(), img, importer.Result{Format: artifact.QCOW2, Compression: artifact.None}, "4.22.0.0")
	if _, why := chooseDelivery(infrav1.DeliveryPull, nil, m); !strings.Contains(why, "--pull-hosts") {
		t.Errorf("the message does not tell of --pull-hosts: %s", why)
	}
}

func TestSuffixFits(t *testing.T) {
	tests := map[string]struct {
		path        string
		format      artifact.Format
		compression artifact.Compression
		version     string
		want        bool
	}{
		"plain":                         {"/a.qcow2", artifact.QCOW2, artifact.None, "4.19.3.0", true},
		"another case":                  {"/a.QCOW2.BZ2", artifact.QCOW2, artifact.Bzip2, "4.19.3.0", true},
		"img is qcow2":                  {"/a.img", artifact.QCOW2, artifact.None, "4.19.3.0", true},
		"img is not vhd":                {"/a.img", artifact.VHD, artifact.None, "4.19.3.0", false},
		"of another format":             {"/a.vhd", artifact.QCOW2, artifact.None, "4.22.0.0", false},
		"none":                          {"/a", artifact.QCOW2, artifact.None, "4.22.0.0", false},
		"gz":                            {"/a.ova.gz", artifact.OVA, artifact.Gzip, "4.22.0.0", true},
		"xz on an old server":           {"/a.qcow2.xz", artifact.QCOW2, artifact.XZ, "4.21.0.0", false},
		"xz on a new server":            {"/a.qcow2.xz", artifact.QCOW2, artifact.XZ, "4.22.0.0", true},
		"xz on an unknown server":       {"/a.qcow2.xz", artifact.QCOW2, artifact.XZ, "", false},
		"xz named bz2, old":             {"/a.qcow2.bz2", artifact.QCOW2, artifact.XZ, "4.20.1.0", false},
		"gz named bz2":                  {"/a.qcow2.bz2", artifact.QCOW2, artifact.Gzip, "4.20.1.0", true},
		"compressed under a plain name": {"/a.qcow2", artifact.QCOW2, artifact.Bzip2, "4.22.0.0", false},
		"zip":                           {"/a.qcow2.zip", artifact.QCOW2, artifact.Zip, "4.22.0.0", false},
		"zst":                           {"/a.qcow2.zst", artifact.QCOW2, artifact.Zstd, "4.22.0.0", false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := suffixFits(tc.path, tc.format, tc.compression, tc.version); got != tc.want {
				t.Errorf("suffixFits() = %t, want %t", got, tc.want)
			}
		})
	}
}

func TestOriginalURL(t *testing.T) {
	urls := []infrav1.SourceURL{"http://a/i.qcow2?token=x", "http://b/i.qcow2#part"}
	for used, want := range map[string]string{
		"http://a/i.qcow2": "http://a/i.qcow2?token=x", "http://b/i.qcow2": "http://b/i.qcow2#part", "": "http://a/i.qcow2?token=x",
	} {
		if got := originalURL(urls, used); got != want {
			t.Errorf("originalURL(%q) = %q, want %q", used, got, want)
		}
	}
}

func TestPublicAddress(t *testing.T) {
	for address, want := range map[string]bool{
		"192.0.2.1": true, "8.8.8.8": true, "2001:4860:4860::8888": true, "10.1.2.3": false, "172.16.0.1": false, "192.168.1.1": false,
		"127.0.0.1": false, "169.254.169.254": false, "100.64.0.1": false, "::1": false, "fe80::1": false, "fd00::1": false, "::ffff:10.0.0.1": false,
	} {
		if got := publicAddress(netip.MustParseAddr(address)); got != want {
			t.Errorf("publicAddress(%s) = %t, want %t", address, got, want)
		}
	}
	if resolvesPublicly(t.Context(), "images") || resolvesPublicly(t.Context(), "127.0.0.1") {
		t.Error("a name without a dot or a loopback address counts as public")
	}
}

func TestJudge(t *testing.T) {
	tests := map[string]struct {
		fault cloudstack.Fault
		mode  infrav1.DeliveryMode
		want  verdict
	}{
		"the source redirects the storage VM":      {cloudstack.FaultRedirect, infrav1.DeliveryPull, verdict{infrav1.ReasonSourceRedirects, true}},
		"the source gives other bytes":             {cloudstack.FaultChecksum, infrav1.DeliveryPull, verdict{infrav1.ReasonChecksumMismatch, true}},
		"our own bytes arrived damaged":            {cloudstack.FaultChecksum, infrav1.DeliveryServe, verdict{infrav1.ReasonSourceUnreachable, true}},
		"content is refused on its way":            {cloudstack.FaultContent, infrav1.DeliveryPull, verdict{infrav1.ReasonContentRejected, true}},
		"content that we sent is refused":          {cloudstack.FaultContent, infrav1.DeliveryServe, verdict{infrav1.ReasonContentRejected, false}},
		"the manager cannot be reached":            {cloudstack.FaultUnreachable, infrav1.DeliveryServe, verdict{infrav1.ReasonSourceUnreachable, true}},
		"too large is too large whatever the mode": {cloudstack.FaultTooLarge, infrav1.DeliveryPull, verdict{infrav1.ReasonTooLarge, false}},
		"unknown": {cloudstack.FaultUnknown, infrav1.DeliveryServe, verdict{infrav1.ReasonInstallFailed, false}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := judge(tc.fault, tc.mode); got != tc.want {
				t.Errorf("judge() = %+v, want %+v", got, tc.want)
			}
		})
	}
}

func TestPauseAfter(t *testing.T) {
	tests := map[string]struct {
		reason   string
		attempts int32
		want     time.Duration
		forever  bool
	}{
		"content stays wrong":        {reason: infrav1.ReasonContentRejected, attempts: 1, forever: true},
		"a person must act":          {reason: infrav1.ReasonQuotaExceeded, attempts: 1, want: pauseSlow},
		"the first fault":            {reason: infrav1.ReasonSourceUnreachable, attempts: 1, want: pauseFirst},
		"the third fault":            {reason: infrav1.ReasonSourceUnreachable, attempts: 3, want: 4 * pauseFirst},
		"the hundredth fault":        {reason: infrav1.ReasonSourceUnreachable, attempts: 100, want: pauseLongest},
		"an unknown reason is tried": {reason: "SomethingNew", attempts: 0, want: pauseFirst},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, forever := pauseAfter(tc.reason, tc.attempts)
			if got != tc.want || forever != tc.forever {
				t.Errorf("pauseAfter() = %s, %t, want %s, %t", got, forever, tc.want, tc.forever)
			}
		})
	}
}

// TestEveryCodeHasAReason: no code of the pipeline may surprise the controller.
func TestEveryCodeHasAReason(t *testing.T) {
	for code, want := range map[artifact.Code]string{
		artifact.BackingFile: infrav1.ReasonContentRejected, artifact.ChecksumMismatch: infrav1.ReasonChecksumMismatch,
		artifact.NoSpace: infrav1.ReasonDiskFull, artifact.SourceMissing: infrav1.ReasonSourceMissing, "": infrav1.ReasonInternalError,
		artifact.SourceBlocked: infrav1.ReasonSourceForbidden, artifact.TooLarge: infrav1.ReasonTooLarge, artifact.NoEntry: infrav1.ReasonChecksumUnavailable,
		artifact.Canceled: infrav1.ReasonInternalError, artifact.SourceTLS: infrav1.ReasonSourceUnreachable,
	} {
		if got := importReason(code); got != want {
			t.Errorf("importReason(%q) = %s, want %s", code, got, want)
		}
	}
}
