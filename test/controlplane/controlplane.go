package controlplane

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/capcat/capcat/test/process"
	"github.com/capcat/capcat/test/scratch"
)

const (
	clientQPS    = 1000
	clientBurst  = 2000
	startTimeout = 2 * time.Minute // a busy machine needs far longer than the five seconds of an idle one
	contextName  = "capcat"
)

// Options of Start. The zero value does.
type Options struct {
	// Programs to run; found or built if empty.
	Programs Programs
	// CRDPaths are files and folders whose CustomResourceDefinitions are installed; default: DefaultCRDs.
	CRDPaths []string
	// Dir for data, certificates and logs; default: a temporary folder that Stop removes.
	Dir string
	// APIServerArgs are added to the arguments of kube-apiserver.
	APIServerArgs []string
	// Out is told about builds that take minutes; default: stderr.
	Out io.Writer
}

// ControlPlane is a running kube-apiserver with its etcd. It has no controllers: nothing collects garbage, and a deleted
// namespace stays Terminating.
type ControlPlane struct {
	dir       string
	temporary *scratch.Folder // is dir, if it is not the caller's
	etcd      *process.Process
	apiServer *process.Process
	config    *rest.Config
}

// Start boots a control plane on free loopback ports and installs CRDs. The context bounds the start only; the caller must Stop it.
func Start(ctx context.Context, o Options) (*ControlPlane, error) {
	if o.Out == nil {
		o.Out = os.Stderr
	}
	if o.Programs == (Programs{}) {
		p, err := Find(ctx, o.Out)
		if err != nil {
			return nil, fmt.Errorf("starting a control plane: %w", err)
		}
		o.Programs = p
	}
	c := &ControlPlane{dir: o.Dir}
	if err := c.start(ctx, o); err != nil {
		return nil, errors.Join(fmt.Errorf("starting a control plane: %w", err), c.Stop())
	}
	return c, nil
}

func (c *ControlPlane) start(ctx context.Context, o Options) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if err := c.prepareDir(); err != nil {
		return err
	}
	etcdURL, err := c.startEtcd(ctx, o.Programs.Etcd)
	if err != nil {
		return err
	}
	if err := c.startAPIServer(ctx, o, etcdURL); err != nil {
		return err
	}
	if len(o.CRDPaths) == 0 {
		paths, err := DefaultCRDs(ctx)
		if err != nil {
			return err
		}
		o.CRDPaths = paths
	}
	return installCRDs(c.config, o.CRDPaths)
}

func (c *ControlPlane) prepareDir() (err error) {
	if c.dir == "" {
		if c.temporary, err = scratch.Take("capcat-plane"); err != nil {
			return err
		}
		c.dir = c.temporary.Path
		return nil
	}
	return os.MkdirAll(c.dir, 0o700)
}

// Config returns a copy of the administrator's client configuration.
func (c *ControlPlane) Config() *rest.Config { return rest.CopyConfig(c.config) }

// Kubeconfig returns the administrator's kubeconfig.
func (c *ControlPlane) Kubeconfig() ([]byte, error) { return Kubeconfig(c.config) }

// Kubeconfig writes a client configuration with a token as a kubeconfig.
func Kubeconfig(config *rest.Config) ([]byte, error) {
	k := clientcmdapi.NewConfig()
	k.Clusters[contextName] = &clientcmdapi.Cluster{Server: config.Host, CertificateAuthorityData: config.CAData}
	k.AuthInfos[contextName] = &clientcmdapi.AuthInfo{Token: config.BearerToken}
	k.Contexts[contextName] = &clientcmdapi.Context{Cluster: contextName, AuthInfo: contextName, Namespace: "default"}
	k.CurrentContext = contextName
	b, err := clientcmd.Write(*k)
	if err != nil {
		return nil, fmt.Errorf("writing a kubeconfig: %w", err)
	}
	return b, nil
}

// Stop ends both processes and removes a temporary folder. It may be called more than once.
func (c *ControlPlane) Stop() error {
	err := errors.Join(c.apiServer.Stop(), c.etcd.Stop())
	if c.temporary != nil {
		err = errors.Join(err, c.temporary.Remove())
		c.temporary = nil
	}
	return err
}
