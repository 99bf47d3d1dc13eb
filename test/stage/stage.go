package stage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/capcat/capcat/test/management"
	"github.com/capcat/capcat/test/release"
)

const (
	// Version of the provider that Open offers to clusterctl.
	Version = "v0.1.0"
	// Infrastructure is the name of the provider for clusterctl.
	Infrastructure = "cloudstack"
	// SecretName is that of the credentials which a Stage makes in a namespace.
	SecretName = "cloudstack"
	// TierInMemory is an API server in memory for each cluster.
	TierInMemory = "inmemory"
	// TierReal is a kube-apiserver with an etcd in each control-plane machine.
	TierReal = "real"
	// Caller is the ordinary user of the simulated CloudStack whose keys are used.
	Caller = "user"
	// ManagerNamespace is that of the Deployment of our manager.
	ManagerNamespace = "capc-system"
	// ManagerName is the name of the Deployment.
	ManagerName = "capc-controller-manager"
)

// Options of Open. Programs and Dir are needed.
type Options struct {
	// Programs is the folder with manager and cloudsim.
	Programs string
	// Dir is where everything is kept. It must not have been used before.
	Dir string
	// Files are what the image mirror has.
	Files []File
	// ContentBytes of each image; default 64 KiB.
	ContentBytes int
	// MirrorRate bounds each download, in bytes a second; 0 does not.
	MirrorRate int
	// Versions of the provider that clusterctl can install; default: Version.
	Versions []string
	// Tier is what boots in the machines: TierInMemory or TierReal; default: the former.
	Tier string
	// Out is told what takes time; default: stderr.
	Out io.Writer
}

// Stage is a whole world on this machine: an image mirror, a CloudStack whose machines boot, and a management cluster that clusterctl
// can install our provider into.
type Stage struct {
	Mirror     *Mirror
	Cloud      *Cloud
	Management *management.Cluster
	// Client of the management cluster, uncached.
	Client client.WithWatch

	options  Options
	releases string
	serve    string // address of the image server of the first manager
	others   []*management.Cluster
}

// Open sets the stage. The context bounds the start only; the caller must Close it.
func Open(ctx context.Context, o Options) (*Stage, error) {
	if o.Out == nil {
		o.Out = os.Stderr
	}
	if len(o.Versions) == 0 {
		o.Versions = []string{Version}
	}
	s := &Stage{options: o, releases: filepath.Join(o.Dir, "releases", release.Provider)}
	if err := s.open(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("setting the stage: %w", err), s.Close())
	}
	return s, nil
}

func (s *Stage) open(ctx context.Context) (err error) {
	if s.serve, err = FreeAddr(); err != nil {
		return err
	}
	if err := s.startMirror(); err != nil {
		return err
	}
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error { return s.startCloud(gctx) })
	g.Go(func() error { return s.startManagement(gctx) })
	if err := g.Wait(); err != nil {
		return err
	}
	s.Client, err = NewClient(s.Management.Config())
	return err
}

func (s *Stage) startMirror() (err error) {
	dir := filepath.Join(s.options.Dir, "images")
	if _, err := MakeImages(dir, cmp.Or(s.options.ContentBytes, defaultContent), s.options.Files); err != nil {
		return err
	}
	s.Mirror, err = StartMirror(dir, s.options.MirrorRate)
	return err
}

const defaultContent = 64 << 10

func (s *Stage) startCloud(ctx context.Context) (err error) {
	s.Cloud, err = StartCloud(ctx, CloudOptions{
		Program: filepath.Join(s.options.Programs, "cloudsim"), Dir: s.options.Dir, Preset: "loopback", Args: []string{"--guests=" + cmp.Or(s.options.Tier, TierInMemory)},
		Resolve: map[string]string{MirrorHost: s.Mirror.Addr, ServeHost: s.serve},
	})
	if err != nil {
		return err
	}
	return s.Cloud.Set(ctx, "allow.user.expunge.recover.vm", "true")
}

func (s *Stage) startManagement(ctx context.Context) (err error) {
	for _, v := range s.options.Versions {
		if err := release.Write(ctx, release.Options{Version: v, Dir: filepath.Join(s.releases, v), Out: s.options.Out}); err != nil {
			return err
		}
	}
	s.Management, err = s.startCluster(ctx, "management", s.serve)
	return err
}

// Second starts another management cluster beside the first, for clusterctl move. It ends with the stage.
func (s *Stage) Second(ctx context.Context) (*management.Cluster, error) {
	serve, err := FreeAddr()
	if err != nil {
		return nil, err
	}
	c, err := s.startCluster(ctx, fmt.Sprintf("management-%d", len(s.others)+2), serve)
	if err != nil {
		return nil, err
	}
	s.others = append(s.others, c)
	return c, nil
}

func (s *Stage) startCluster(ctx context.Context, name, serve string) (*management.Cluster, error) {
	program, err := s.managerProgram(serve)
	if err != nil {
		return nil, err
	}
	components := filepath.Join(s.Release(), release.Components)
	return management.Start(ctx, management.Options{
		Dir: filepath.Join(s.options.Dir, name), Out: s.options.Out,
		Programs:  map[string]management.Program{release.Image: program},
		Providers: []management.Provider{management.Infrastructure(Infrastructure, components)},
	})
}

// managerProgram is our manager, which finds the mirror and whom the simulator's storage finds.
func (s *Stage) managerProgram(serve string) (management.Program, error) {
	port, err := strconv.ParseInt(serve[len("127.0.0.1:"):], 10, 32)
	if err != nil {
		return management.Program{}, fmt.Errorf("reading the port of the image server: %w", err)
	}
	path, err := filepath.Abs(filepath.Join(s.options.Programs, "manager"))
	if err != nil {
		return management.Program{}, err
	}
	return management.Program{
		Path: path, Ports: map[string]int32{"images": int32(port)},
		Args: []string{"--serve-external-url=http://" + ServeHost, "--fetch-use-proxy", "--pull-hosts=" + MirrorHost, "--cloudstack-qps=100", "--cloudstack-burst=100"},
		Env:  []string{"HTTP_PROXY=http://" + s.Mirror.Addr, "http_proxy=", "HTTPS_PROXY=", "https_proxy=", "NO_PROXY=", "no_proxy="},
	}, nil
}

// Release is the folder of the release that Init installs.
func (s *Stage) Release() string { return filepath.Join(s.releases, s.options.Versions[0]) }

// Init installs Cluster API and our provider, as people do.
func (s *Stage) Init(ctx context.Context) error { return s.Management.Init(ctx, Infrastructure) }

// Credentials puts the keys of the ordinary user into the Secret SecretName of a namespace.
func (s *Stage) Credentials(ctx context.Context, c client.Client, namespace string) error {
	secret, err := s.Cloud.Secret(Caller, namespace, SecretName)
	if err != nil {
		return err
	}
	if err := c.Create(ctx, secret); err != nil {
		return fmt.Errorf("making the secret of the credentials: %w", err)
	}
	return nil
}

// WriteEnvironment writes a file for a shell to source: it lets kubectl and clusterctl find a management cluster, puts them into the
// PATH, and has the keys of CloudStack.
func (s *Stage) WriteEnvironment(path string, c *management.Cluster) error {
	env, keys := c.Environment(), s.Cloud.Keys[Caller]
	env["CLOUDSTACK_API_URL"], env["CLOUDSTACK_API_KEY"], env["CLOUDSTACK_SECRET_KEY"] = s.Cloud.URL, keys[0], keys[1]
	env["CLOUDSTACK_CA_FILE"] = s.Cloud.CAFile
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(env)) {
		fmt.Fprintf(&b, "export %s='%s'\n", name, env[name])
	}
	fmt.Fprintf(&b, "export PATH='%s':\"$PATH\"\n", c.Bin())
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		return fmt.Errorf("writing the environment: %w", err)
	}
	return nil
}

// Close ends everything. It may be called more than once.
func (s *Stage) Close() error {
	var errs []error
	for _, c := range append(s.others, s.Management) {
		if c != nil {
			errs = append(errs, c.Stop())
		}
	}
	if s.Cloud != nil {
		errs = append(errs, s.Cloud.Process.Stop())
	}
	if s.Mirror != nil {
		errs = append(errs, s.Mirror.Stop())
	}
	return errors.Join(errs...)
}
