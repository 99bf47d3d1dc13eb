package image

import (
	"context"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/controllers/cloudstack"
	"github.com/capcat/capcat/imagecatalog/artifact"
	"github.com/capcat/capcat/imagecatalog/importer"
)

// means are the ways that are open to an image at the moment.
type means struct {
	// pull is the URL that CloudStack may fetch from; when empty, noPull tells why.
	pull, noPull string
	// serve tells whether the manager has an address that CloudStack reaches.
	serve bool
}

// chooseDelivery takes the wanted mode, or for Auto the first that is possible and has not failed. The reason is for people
// and set when no mode is left.
func chooseDelivery(wanted infrav1.DeliveryMode, failed []infrav1.DeliveryMode, m means) (mode infrav1.DeliveryMode, reason string) {
	switch wanted {
	case infrav1.DeliveryPull:
		if m.pull == "" {
			return "", "CloudStack cannot fetch from the source: " + m.noPull
		}
		return infrav1.DeliveryPull, ""
	case infrav1.DeliveryServe:
		if !m.serve {
			return "", "the manager has no address that CloudStack can reach: set --serve-external-url"
		}
		return infrav1.DeliveryServe, ""
	case infrav1.DeliveryUpload:
		return infrav1.DeliveryUpload, ""
	}
	if m.pull != "" && !slices.Contains(failed, infrav1.DeliveryPull) {
		return infrav1.DeliveryPull, ""
	}
	if m.serve && !slices.Contains(failed, infrav1.DeliveryServe) {
		return infrav1.DeliveryServe, ""
	}
	if !slices.Contains(failed, infrav1.DeliveryUpload) {
		return infrav1.DeliveryUpload, ""
	}
	return "", "every mode of delivery failed"
}

// meansFor finds out which ways are open. version is that of the server, empty when unknown.
func (r *Reconciler) meansFor(ctx context.Context, img *infrav1.CloudStackImage, result importer.Result, version string) means {
	m := means{serve: r.options.ServeURL != nil}
	source := originalURL(img.Spec.Source.URLs, result.MirrorUsed)
	u, err := url.Parse(source)
	switch {
	case err != nil:
		m.noPull = "its URL is malformed"
	case result.SourceRedirected:
		m.noPull = "it redirects"
	case u.User != nil:
		m.noPull = "it needs a password"
	case !suffixFits(u.Path, result.Format, result.Compression, version):
		m.noPull = "the file name does not end in a suffix that CloudStack takes for " + string(result.Format) + " with this compression"
	case !r.options.PublicHost(ctx, u.Hostname()):
		m.noPull = "the manager does not see its host as a public one; if CloudStack reaches the host all the same, " +
			"name it with --pull-hosts, or choose another delivery mode"
	default:
		m.pull = source
	}
	return m
}

// originalURL finds the URL of the spec behind the redacted one that delivered; the first when the bytes were already here.
func originalURL(urls []infrav1.SourceURL, used string) string {
	for _, u := range urls {
		bare, _, _ := strings.Cut(string(u), "#")
		bare, _, _ = strings.Cut(bare, "?")
		if bare == used {
			return string(u)
		}
	}
	return string(urls[0])
}

// suffixFits tells whether CloudStack takes a file of that name for the format. It unpacks bz2 and gz, xz from 4.22 on;
// its test of zip files refuses most of them, and zst it does not know. The suffix must speak of compression if there is any.
func suffixFits(path string, format artifact.Format, compression artifact.Compression, version string) bool {
	name := strings.ToLower(path)
	packed := false
	for _, suffix := range []string{".bz2", ".gz", ".xz"} {
		if rest, found := strings.CutSuffix(name, suffix); found {
			if suffix == ".xz" && !atLeast(version, 4, 22) {
				return false
			}
			name, packed = rest, true
			break
		}
	}
	switch compression {
	case artifact.None, "":
	case artifact.XZ:
		if !packed || !atLeast(version, 4, 22) {
			return false
		}
	case artifact.Bzip2, artifact.Gzip:
		if !packed {
			return false
		}
	default:
		return false
	}
	allowed := []string{"." + format.Suffix()}
	if format == artifact.QCOW2 || format == artifact.RAW {
		allowed = append(allowed, ".img")
	}
	return slices.ContainsFunc(allowed, func(suffix string) bool { return strings.HasSuffix(name, suffix) })
}

// atLeast compares the first two numbers of a version such as 4.22.0.0.
func atLeast(version string, major, minor int) bool {
	parts := strings.SplitN(version, ".", 3)
	if len(parts) < 2 {
		return false
	}
	a, errA := strconv.Atoi(parts[0])
	b, errB := strconv.Atoi(parts[1])
	return errA == nil && errB == nil && (a > major || (a == major && b >= minor))
}

// resolvesPublicly tells whether every address of a host is one of the public Internet, as the manager sees it.
func resolvesPublicly(ctx context.Context, host string) bool {
	if addr, err := netip.ParseAddr(host); err == nil {
		return publicAddress(addr)
	}
	if !strings.Contains(host, ".") {
		return false
	}
	addrs, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil || len(addrs) == 0 {
		return false
	}
	return !slices.ContainsFunc(addrs, func(a netip.Addr) bool { return !publicAddress(a) })
}

func publicAddress(a netip.Addr) bool {
	a = a.Unmap()
	shared := netip.MustParsePrefix("100.64.0.0/10") // behind the provider's address translation
	return a.IsGlobalUnicast() && !a.IsPrivate() && !shared.Contains(a)
}

// verdict is what becomes of an image whose delivery failed.
type verdict struct {
	// reason of the condition.
	reason string
	// ofMode is true when another mode may do better.
	ofMode bool
}

// judge tells whether a fault lies in the mode of delivery, in the content or in the cloud. The manager has verified the
// content before, so what CloudStack says of the bytes on their way speaks of the way; of uncompressed bytes that it got
// from us it speaks of the content.
func judge(fault cloudstack.Fault, mode infrav1.DeliveryMode) verdict {
	pull := mode == infrav1.DeliveryPull
	switch fault {
	case cloudstack.FaultChecksum, cloudstack.FaultChecksumForm:
		if pull {
			return verdict{infrav1.ReasonChecksumMismatch, true}
		}
		return verdict{infrav1.ReasonSourceUnreachable, true}
	case cloudstack.FaultContent:
		return verdict{infrav1.ReasonContentRejected, pull}
	case cloudstack.FaultInstall, cloudstack.FaultUnknown, cloudstack.NoFault:
		return verdict{infrav1.ReasonInstallFailed, pull}
	case cloudstack.FaultRedirect:
		return verdict{infrav1.ReasonSourceRedirects, true}
	case cloudstack.FaultForbidden:
		return verdict{infrav1.ReasonSourceForbidden, true}
	case cloudstack.FaultMissing:
		return verdict{infrav1.ReasonSourceMissing, true}
	case cloudstack.FaultTooLarge:
		return verdict{infrav1.ReasonTooLarge, false}
	case cloudstack.FaultQuota:
		return verdict{infrav1.ReasonQuotaExceeded, false}
	case cloudstack.FaultUploadRefused:
		return verdict{infrav1.ReasonUploadFailed, false}
	}
	return verdict{infrav1.ReasonSourceUnreachable, true}
}
