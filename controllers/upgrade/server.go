package upgrade

import (
	"crypto/tls"
	"fmt"

	runtimecatalog "sigs.k8s.io/cluster-api/api/runtime/catalog"
	hooksv1 "sigs.k8s.io/cluster-api/api/runtime/hooks/v1alpha1"
	runtimeserver "sigs.k8s.io/cluster-api/exp/runtime/server"
)

// ServerOptions say where hooks are served.
type ServerOptions struct {
	// Host is the address to listen on; every one when empty.
	Host string
	// Port to listen on; required.
	Port int
	// CertDir is the folder of the certificate and its key, whose file names follow.
	CertDir, CertName, KeyName string
	// TLSOpts change how TLS is spoken.
	TLSOpts []func(*tls.Config)
}

// NewServer serves the hooks of the gate to Cluster API. A manager runs it, leader or not.
func NewServer(g *Gate, o ServerOptions) (*runtimeserver.Server, error) {
	hooks := runtimecatalog.New()
	if err := hooksv1.AddToCatalog(hooks); err != nil {
		return nil, fmt.Errorf("making the catalog of hooks: %w", err)
	}
	server, err := runtimeserver.New(runtimeserver.Options{
		Catalog: hooks, Host: o.Host, Port: o.Port, CertDir: o.CertDir, CertName: o.CertName, KeyName: o.KeyName, TLSOpts: o.TLSOpts,
	})
	if err != nil {
		return nil, fmt.Errorf("making the server of hooks: %w", err)
	}
	for _, h := range []runtimeserver.ExtensionHandler{
		{Name: "generate-upgrade-plan", Hook: hooksv1.GenerateUpgradePlan, HandlerFunc: g.GenerateUpgradePlan},
		{Name: "before-cluster-upgrade", Hook: hooksv1.BeforeClusterUpgrade, HandlerFunc: g.BeforeClusterUpgrade},
		{Name: "before-control-plane-upgrade", Hook: hooksv1.BeforeControlPlaneUpgrade, HandlerFunc: g.BeforeControlPlaneUpgrade},
		{Name: "before-workers-upgrade", Hook: hooksv1.BeforeWorkersUpgrade, HandlerFunc: g.BeforeWorkersUpgrade},
	} {
		if err := server.AddExtensionHandler(h); err != nil {
			return nil, fmt.Errorf("serving the hook %s: %w", h.Name, err)
		}
	}
	return server, nil
}
