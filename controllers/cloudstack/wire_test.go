package cloudstack_test

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/capcat/capcat/controllers/cloudstack"
)

// TestConnectionsThatAreNotSecured: the error tells what to write into the Secret.
func TestConnectionsThatAreNotSecured(t *testing.T) {
	secured := httptest.NewUnstartedServer(http.NotFoundHandler())
	secured.Config.ErrorLog = log.New(io.Discard, "", 0)
	secured.StartTLS()
	t.Cleanup(secured.Close)
	plain := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(plain.Close)
	for name, row := range map[string]struct{ url, says string }{
		"an authority that is not known": {secured.URL, "into ca-cert"},
		"https where http is":            {strings.Replace(plain.URL, "http:", "https:", 1), "begin with http://"},
		"http where https is":            {strings.Replace(secured.URL, "https:", "http:", 1), "is api-url right"},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := newSessions(t, cloudstack.Options{}).For(t.Context(), config(row.url+"/client/api"))
			if err != nil {
				t.Fatal(err)
			}
			_, err = s.Zones(t.Context())
			if !cloudstack.Is(err, cloudstack.Unavailable) || !strings.Contains(err.Error(), row.says) {
				t.Errorf("error %v, want one that says %q", err, row.says)
			}
		})
	}
}
