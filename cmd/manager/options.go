package main

import (
	"errors"
	goflag "flag"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
	logsv1 "k8s.io/component-base/logs/api/v1"
	_ "k8s.io/component-base/logs/json/register" // --logging-format=json
	capiflags "sigs.k8s.io/cluster-api/util/flags"
	"sigs.k8s.io/controller-runtime/pkg/client/config"
)

// options are the flags of the manager.
type options struct {
	manager  capiflags.ManagerOptions
	logs     *logsv1.LoggingConfiguration
	leader   leaderOptions
	kube     kubeOptions
	webhook  webhookOptions
	pipeline pipelineOptions
	serve    serveOptions
	cloud    cloudOptions

	healthAddr          string
	profilerAddr        string
	contentionProfiling bool
	catalogConcurrency  int
	imageConcurrency    int

	machineTemplateConcurrency int
	clusterConcurrency         int
	machineConcurrency         int
}

// leaderOptions say how managers agree on which one works.
type leaderOptions struct {
	elect                                     bool
	leaseDuration, renewDeadline, retryPeriod time.Duration
}

// kubeOptions say which objects are read, and how fast.
type kubeOptions struct {
	namespace, watchFilter string
	syncPeriod             time.Duration
	qps                    float32
	burst                  int
}

// webhookOptions say where admission is served.
type webhookOptions struct {
	port                       int
	certDir, certName, keyName string
	// extensionAddr is that of the runtime hooks, which have the same certificate; empty serves none.
	extensionAddr string
}

// pipelineOptions bound what the image pipeline does at one time, and with how much.
type pipelineOptions struct {
	dataDir       string
	storeMaxBytes int64
	workers       int
	uploads       int
	// uploadPatience is for uploads that another manager began.
	uploadPatience time.Duration
	allowLoopback  bool
	proxy          bool
	caFile         string
	pullHosts      []string
}

// serveOptions say how CloudStack reaches the image server.
type serveOptions struct {
	addr           string
	externalURL    string
	maxConnections int
}

// cloudOptions bound the calls to one CloudStack account.
type cloudOptions struct {
	qps   float64
	burst int
}

func newOptions() *options {
	logs := logsv1.NewLoggingConfiguration()
	logs.Verbosity = 2
	return &options{logs: logs}
}

// addFlags declares every flag. The names of those that all Cluster API providers have are theirs.
func (o *options) addFlags(fs *pflag.FlagSet) {
	logsv1.AddFlags(o.logs, fs)
	capiflags.AddManagerOptions(fs, &o.manager)

	fs.AddGoFlag(goflag.CommandLine.Lookup(config.KubeconfigFlagName))
	fs.BoolVar(&o.leader.elect, "leader-elect", false, "Of several managers let only one work.")
	fs.DurationVar(&o.leader.leaseDuration, "leader-elect-lease-duration", 15*time.Second, "How long a leader that fell silent is waited for.")
	fs.DurationVar(&o.leader.renewDeadline, "leader-elect-renew-deadline", 10*time.Second, "How long the leader tries to renew before it gives up.")
	fs.DurationVar(&o.leader.retryPeriod, "leader-elect-retry-period", 2*time.Second, "The wait between two tries to become the leader.")

	fs.StringVar(&o.kube.namespace, "namespace", "", "Work on the objects of this namespace only; empty means all.")
	fs.StringVar(&o.kube.watchFilter, "watch-filter", "",
		"Work only on objects whose label cluster.x-k8s.io/watch-filter has this value; empty means all.")
	fs.DurationVar(&o.kube.syncPeriod, "sync-period", 10*time.Minute, "How often every object is looked at although nothing changed.")
	fs.Float32Var(&o.kube.qps, "kube-api-qps", 100, "Requests a second to the Kubernetes API server.")
	fs.IntVar(&o.kube.burst, "kube-api-burst", 200, "Requests to the Kubernetes API server that may come at once.")

	fs.IntVar(&o.webhook.port, "webhook-port", 9443, "The port of the admission webhooks; 0 serves none.")
	fs.StringVar(&o.webhook.certDir, "webhook-cert-dir", "/tmp/k8s-webhook-server/serving-certs/", "The folder of the webhooks' certificate and key.")
	fs.StringVar(&o.webhook.certName, "webhook-cert-name", "tls.crt", "The file name of the webhooks' certificate.")
	fs.StringVar(&o.webhook.keyName, "webhook-key-name", "tls.key", "The file name of the webhooks' key.")

	fs.StringVar(&o.webhook.extensionAddr, "runtime-extension-addr", "",
		"The address of the runtime hooks that Cluster API asks before it upgrades a topology, served with the webhooks' certificate; empty serves none.")

	fs.StringVar(&o.healthAddr, "health-addr", ":9440", "The address of /healthz and /readyz.")
	fs.StringVar(&o.profilerAddr, "profiler-address", "", "The address of an open pprof endpoint, for example localhost:6060; empty serves none.")
	fs.BoolVar(&o.contentionProfiling, "contention-profiling", false, "Record where goroutines wait for each other, for pprof.")

	fs.IntVar(&o.catalogConcurrency, "templatecatalog-concurrency", 4, "How many catalogs are worked on at one time.")
	fs.IntVar(&o.imageConcurrency, "cloudstackimage-concurrency", 10, "How many images are looked at at one time; downloads have a bound of their own.")
	fs.IntVar(&o.clusterConcurrency, "cloudstackcluster-concurrency", 4, "How many clusters are worked on at one time.")
	fs.IntVar(&o.machineConcurrency, "cloudstackmachine-concurrency", 10, "How many machines are worked on at one time.")
	fs.IntVar(&o.machineTemplateConcurrency, "cloudstackmachinetemplate-concurrency", 4, "How many machine templates are worked on at one time.")

	o.addPipelineFlags(fs)
}

// addPipelineFlags declares the flags that no other provider has.
func (o *options) addPipelineFlags(fs *pflag.FlagSet) {
	p := &o.pipeline
	fs.StringVar(&p.dataDir, "data-dir", "/var/lib/capcat", "The folder of downloaded and verified images. It is a cache: what is lost is fetched again.")
	fs.Int64Var(&p.storeMaxBytes, "store-max-bytes", 100<<30,
		"The size that images which nobody uses at the moment are pruned to, in bytes; 0 means no bound but the disk.")
	fs.IntVar(&p.workers, "image-workers", 2, "How many images are fetched, verified and expanded at one time.")
	fs.IntVar(&p.uploads, "image-uploads", 2, "How many images are uploaded to CloudStack at one time.")
	fs.DurationVar(&p.uploadPatience, "image-upload-patience", 3*time.Minute,
		"How long an upload that another manager began may show no progress before it is begun anew. Longer than CloudStack's upload.monitoring.interval.")
	fs.BoolVar(&p.allowLoopback, "fetch-allow-loopback", false, "Let image sources be on the manager's own machine: for tests and demos.")
	fs.BoolVar(&p.proxy, "fetch-use-proxy", false, "Fetch through the proxy that HTTP_PROXY, HTTPS_PROXY and NO_PROXY name.")
	fs.StringVar(&p.caFile, "fetch-ca-file", "", "A PEM file of certificate authorities that image sources may have beside those of the system.")

	s := &o.serve
	fs.StringVar(&s.addr, "serve-addr", "", "The address that the image server listens at, for delivery Serve; empty serves none.")
	fs.StringVar(&s.externalURL, "serve-external-url", "",
		"The http or https URL under which CloudStack's secondary storage VMs reach --serve-addr; empty leaves delivery Serve out.")
	fs.IntVar(&s.maxConnections, "serve-max-connections", 32, "How many images are sent to secondary storage VMs at one time.")

	fs.StringSliceVar(&p.pullHosts, "pull-hosts", nil,
		"The hosts that CloudStack can fetch from by itself, for delivery Pull: names, or .example.org for all below; empty means every host whose addresses are public.")

	c := &o.cloud
	fs.Float64Var(&c.qps, "cloudstack-qps", 20, "Requests a second to CloudStack for each set of credentials. Where CloudStack limits calls itself, it takes 25 by default.")
	fs.IntVar(&c.burst, "cloudstack-burst", 100, "Requests to CloudStack for each set of credentials that may come at once.")
}

// validate reports every flag that cannot be meant.
func (o *options) validate() error {
	return errors.Join(o.validateNumbers(), o.validatePaths(), o.serve.validate())
}

func (o *options) validateNumbers() error {
	var errs []error
	atLeast := func(flag string, value, least int64) {
		if value < least {
			errs = append(errs, fmt.Errorf("--%s is %d, must be at least %d", flag, value, least))
		}
	}
	atLeast("templatecatalog-concurrency", int64(o.catalogConcurrency), 1)
	atLeast("cloudstackimage-concurrency", int64(o.imageConcurrency), 1)
	atLeast("cloudstackcluster-concurrency", int64(o.clusterConcurrency), 1)
	atLeast("cloudstackmachine-concurrency", int64(o.machineConcurrency), 1)
	atLeast("cloudstackmachinetemplate-concurrency", int64(o.machineTemplateConcurrency), 1)
	atLeast("image-workers", int64(o.pipeline.workers), 1)
	atLeast("image-uploads", int64(o.pipeline.uploads), 1)
	atLeast("image-upload-patience", int64(o.pipeline.uploadPatience), 1)
	atLeast("store-max-bytes", o.pipeline.storeMaxBytes, 0)
	atLeast("serve-max-connections", int64(o.serve.maxConnections), 1)
	atLeast("cloudstack-burst", int64(o.cloud.burst), 1)
	atLeast("kube-api-burst", int64(o.kube.burst), 1)
	atLeast("webhook-port", int64(o.webhook.port), 0)
	if o.webhook.port > 65535 {
		errs = append(errs, fmt.Errorf("--webhook-port is %d, must be at most 65535", o.webhook.port))
	}
	if o.cloud.qps <= 0 {
		errs = append(errs, fmt.Errorf("--cloudstack-qps is %g, must be more than 0", o.cloud.qps))
	}
	if o.kube.qps <= 0 {
		errs = append(errs, fmt.Errorf("--kube-api-qps is %g, must be more than 0", o.kube.qps))
	}
	if o.kube.syncPeriod <= 0 {
		errs = append(errs, fmt.Errorf("--sync-period is %s, must be more than 0", o.kube.syncPeriod))
	}
	if o.leader.elect && (o.leader.renewDeadline >= o.leader.leaseDuration || o.leader.retryPeriod >= o.leader.renewDeadline) {
		errs = append(errs, errors.New("--leader-elect-lease-duration must be longer than --leader-elect-renew-deadline, and that longer than --leader-elect-retry-period"))
	}
	return errors.Join(errs...)
}

func (o *options) validatePaths() error {
	var errs []error
	if !filepath.IsAbs(o.pipeline.dataDir) {
		errs = append(errs, fmt.Errorf("--data-dir is %q, must be an absolute path", o.pipeline.dataDir))
	}
	if _, err := o.pipeline.rootCAs(); err != nil {
		errs = append(errs, err)
	}
	if o.webhook.certDir == "" && o.webhook.port != 0 {
		errs = append(errs, errors.New("--webhook-cert-dir is empty: name the folder of the certificate, or serve no webhooks with --webhook-port=0"))
	}
	if _, _, err := o.webhook.extension(); err != nil {
		errs = append(errs, err)
	}
	for flag, addr := range map[string]string{"health-addr": o.healthAddr, "profiler-address": o.profilerAddr, "serve-addr": o.serve.addr} {
		if addr == "" {
			continue
		}
		if _, _, err := net.SplitHostPort(addr); err != nil {
			errs = append(errs, fmt.Errorf("--%s is %q, must be HOST:PORT or :PORT", flag, addr))
		}
	}
	return errors.Join(errs...)
}

// extension gives host and port of --runtime-extension-addr; port 0 without it.
func (w webhookOptions) extension() (host string, port int, err error) {
	if w.extensionAddr == "" {
		return "", 0, nil
	}
	host, text, err := net.SplitHostPort(w.extensionAddr)
	if err == nil {
		port, err = strconv.Atoi(text)
	}
	switch {
	case err != nil || port < 1 || port > 65535:
		return "", 0, fmt.Errorf("--runtime-extension-addr is %q, must be HOST:PORT or :PORT", w.extensionAddr)
	case port == w.port:
		return "", 0, fmt.Errorf("--runtime-extension-addr and --webhook-port both take the port %d", port)
	case w.certDir == "":
		return "", 0, errors.New("--webhook-cert-dir is empty: name the folder of the certificate, or serve no runtime hooks with an empty --runtime-extension-addr")
	}
	return host, port, nil
}

func (s serveOptions) validate() error {
	if s.externalURL == "" {
		return nil
	}
	if s.addr == "" {
		return errors.New("--serve-external-url is set but --serve-addr is not: nobody would answer there")
	}
	u, err := url.Parse(s.externalURL)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return errors.New("--serve-external-url must be a complete http or https URL")
	}
	if u.User != nil || u.RawQuery != "" || u.Fragment != "" || strings.Contains(u.Path, "//") {
		return errors.New("--serve-external-url must have no user, query or fragment")
	}
	return nil
}
