//go:build e2e

package clusters

import (
	_ "embed"
	"strings"
	"testing"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/test/stage"
)

//go:embed testdata/capc.yaml
var manifestOfCAPC string

// A manifest for Cluster API Provider CloudStack makes its cluster with nothing but the version of our kinds changed.
func TestManifestOfCAPC(t *testing.T) {
	s := begin(t)
	s.catalog([]string{"zone-kvm"}, "v1.34.2")
	s.apply(strings.NewReplacer("infrastructure.cluster.x-k8s.io/v1beta3", infrav1.GroupVersion.String(),
		"NAMESPACE", s.namespace, "SECRET", stage.SecretName, "TEMPLATE", s.templateName()).Replace(manifestOfCAPC))
	s.runs("brought", "v1.34.2", size{1, 2})
	s.remove("brought")
}
