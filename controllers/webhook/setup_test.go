package webhook_test

import (
	"net/http"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/controllers/webhook"
)

// noMapper knows no kind: nobody asks it.
func noMapper(*rest.Config, *http.Client) (meta.RESTMapper, error) {
	return meta.NewDefaultRESTMapper(nil), nil
}

// TestEveryPathIsServed: the API server asks exactly the paths that the manager answers.
func TestEveryPathIsServed(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := infrav1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	mgr, err := ctrl.NewManager(&rest.Config{Host: "http://127.0.0.1:0"}, ctrl.Options{
		Scheme: scheme, MapperProvider: noMapper,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := webhook.SetupWithManager(mgr); err != nil {
		t.Fatal(err)
	}
	config := manifests(t)
	if len(config.Webhooks) != 7 {
		t.Errorf("%d webhooks are configured, want one for each of our kinds that needs one and three that warn", len(config.Webhooks))
	}
	for _, w := range config.Webhooks {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, *w.ClientConfig.Service.Path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		if _, pattern := mgr.GetWebhookServer().WebhookMux().Handler(request); pattern != *w.ClientConfig.Service.Path {
			t.Errorf("Nothing serves %s", *w.ClientConfig.Service.Path)
		}
	}
}
