package secondarystorage

import (
	"context"
	"crypto/x509"
	"io/fs"
	"net"
	"net/http"
	"net/netip"

	"k8s.io/utils/clock"
)

// State is the state of a template on the store, as management sees it.
type State string

// The states that a download goes through.
const (
	NotDownloaded      State = "NOT_DOWNLOADED"
	DownloadInProgress State = "DOWNLOAD_IN_PROGRESS"
	Downloaded         State = "DOWNLOADED"
	DownloadError      State = "DOWNLOAD_ERROR"
)

// DefaultMaxBytes is what a storage VM takes when it is told no limit: 50 GiB.
const DefaultMaxBytes int64 = 50 << 30

// Options say where an Engine keeps its files and how it sees the network.
type Options struct {
	// Dir is where the store is kept. It must exist. Empty: a new directory under the system's temporary one, removed by Close.
	Dir string
	// KeepContent keeps installed files. Without it only their sizes are remembered, so that the store stays small.
	KeepContent bool
	// KeepHead is how many bytes of an installed image stay when its content does not.
	KeepHead int64
	// Clock dates results, measures the three seconds of the first answer and expires uploads. Nil: the real clock.
	Clock clock.Clock
	// Network is what the storage VM can reach.
	Network Network
	// Secret signs upload parameters. Empty: a random one.
	Secret []byte
	// RefusalLost tells how the race ends between a refusal of the upload server and the front web server that is still sending
	// it the body: true gives the client a 502 instead of the reason. Nil: it is lost when the body has 1 MiB or more, or no
	// length.
	RefusalLost func(*http.Request) bool
	// Local are the files of the storage VM itself, for URLs of the scheme file. Nil: none.
	Local fs.FS
	// NoXZ is true for storage VMs before 4.22, which do not know xz.
	NoXZ bool
}

// Network is the storage VM's view of the world outside.
type Network struct {
	// Hosts maps a name or an address of a URL to the address that is dialled instead ("127.0.0.1:8080", or without port:
	// the port of the URL is kept). The key may carry a port, which then must fit. What stands here counts as a public
	// address: no other rule is looked at.
	Hosts map[string]string
	// Lookup resolves other names. Nil: the system's resolver.
	Lookup func(ctx context.Context, host string) ([]netip.Addr, error)
	// Dial connects to "address:port". Nil: TCP without a time limit.
	Dial func(ctx context.Context, address string) (net.Conn, error)
	// Roots are the authorities that the storage VM trusts. Nil: none, every TLS server is refused.
	Roots *x509.CertPool
	// Private is the storage VM's own private network. With it, other private addresses are looked for behind the public
	// gateway, where nothing answers, unless they are allowed internal sites. The zero Prefix: private addresses are as any.
	Private netip.Prefix
	// OpenPrivate is true before the storage VM's agent has set its packet filter: ports 80 and 443 of Private are not rejected.
	OpenPrivate bool
}

// DownloadRequest asks for one template, as registerTemplate leads to.
type DownloadRequest struct {
	// URL is the source, as given by the user.
	URL string
	// Name is the unique name of the template ("201-2-name"): an ISO is stored under it.
	Name string
	// Description is kept in template.properties, as are RequiresHVM and Public.
	Description         string
	RequiresHVM, Public bool
	// AccountID and TemplateID are database numbers: they make the install path template/tmpl/<account>/<template>.
	AccountID, TemplateID int64
	// Folder replaces the template's number in the install path when not empty.
	Folder string
	// Format is the declared format: QCOW2, VHD, OVA, RAW, ISO, VMDK, VHDX, TAR.
	Format string
	// Checksum is the text that the user gave: "{ALG}hex", bare hex (taken as MD5) or empty.
	Checksum string
	// MaxBytes is the setting max.template.iso.size in bytes. Zero refuses everything, below zero means DefaultMaxBytes.
	MaxBytes int64
	// FollowRedirects is the setting store.download.follow.redirects.
	FollowRedirects bool
	// AllowedInternalSites is the setting secstorage.allowed.internal.sites: addresses and networks, malformed ones are dropped.
	AllowedInternalSites []string
	// User and Password are sent when the server asks for basic authentication. They are not taken from the URL.
	User, Password string
}

// Status is what is known about a download.
type Status struct {
	State   State
	Percent int
	// ErrorText is the text of the storage VM, also for good news; one blank while there is none.
	ErrorText string
	// VirtualSize and PhysicalSize are bytes, 0 until Downloaded.
	VirtualSize, PhysicalSize int64
	// Checksum is "{ALG}hex" over the bytes as downloaded: of the algorithm asked for, else SHA-512. Empty before the install step.
	Checksum string
	// InstallPath is relative to the store.
	InstallPath string
}

// UploadRequest is what getUploadParamsForTemplate knows about an upload.
type UploadRequest struct {
	// ID is the uuid of the template: the last part of the URL.
	ID string
	// Host is the host of the URL ("192.0.2.1", or with a port). HTTPS is the setting use.https.to.upload.
	Host  string
	HTTPS bool
	// LifetimeMinutes is the setting upload.operation.timeout.
	LifetimeMinutes int
	// The rest goes into the metadata.
	Name, Description     string
	RequiresHVM           bool
	AccountID, TemplateID int64
	// Format is the declared format, Checksum what the user gave: on 4.22 every upload with one fails.
	Format, Checksum string
	// MaxGiB is max.template.iso.size, LimitGiB the secondary storage that the account may use, in whole GiB. A LimitGiB below
	// 0 means no limit.
	MaxGiB, LimitGiB int64
}

// UploadParams are the answer to getUploadParamsForTemplate.
type UploadParams struct {
	PostURL, Metadata, Expires, Signature string
}

// UploadState is the state of an upload as the storage VM answers management.
type UploadState string

// The states of an upload. Unknown means that nothing came, or that the end was already told.
const (
	UploadUnknown    UploadState = "UNKNOWN"
	UploadInProgress UploadState = "IN_PROGRESS"
	UploadCompleted  UploadState = "COMPLETED"
	UploadFailed     UploadState = "ERROR"
)

// UploadStatus is one answer to management's question.
type UploadStatus struct {
	State                     UploadState
	Details                   string
	VirtualSize, PhysicalSize int64
	InstallPath               string
	Percent                   int
}
