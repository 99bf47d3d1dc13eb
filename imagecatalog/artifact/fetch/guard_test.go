package fetch

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"github.com/capcat/capcat/imagecatalog/artifact"
)

func TestGuard(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		addr    string
		blocked bool
		always  bool // also when loopback is allowed
	}{
		"public":                     {addr: "93.184.216.34"},
		"private":                    {addr: "10.1.2.3"},
		"unique local":               {addr: "fd12::1"},
		"public IPv6":                {addr: "2606:2800:220:1::1"},
		"loopback":                   {addr: "127.0.0.1", blocked: true},
		"loopback, elsewhere":        {addr: "127.9.9.9", blocked: true},
		"loopback IPv6":              {addr: "::1", blocked: true},
		"loopback, mapped":           {addr: "::ffff:127.0.0.1", blocked: true},
		"loopback, compatible":       {addr: "::127.0.0.1", blocked: true},
		"loopback, NAT64":            {addr: "64:ff9b::7f00:1", blocked: true},
		"metadata":                   {addr: "169.254.169.254", blocked: true, always: true},
		"metadata of containers":     {addr: "169.254.170.2", blocked: true, always: true},
		"metadata, mapped":           {addr: "::ffff:169.254.169.254", blocked: true, always: true},
		"metadata, NAT64":            {addr: "64:ff9b::a9fe:a9fe", blocked: true, always: true},
		"metadata, local NAT64":      {addr: "64:ff9b:1::a9fe:a9fe", blocked: true, always: true},
		"metadata, local NAT64 48":   {addr: "64:ff9b:1:a9fe:a9:fe00::", blocked: true, always: true},
		"metadata, 6to4":             {addr: "2002:a9fe:a9fe::1", blocked: true, always: true},
		"metadata, Teredo":           {addr: "2001:0:1:2:3:4:5601:5601", blocked: true, always: true},
		"metadata, IPv6":             {addr: "fd00:ec2::254", blocked: true, always: true},
		"metadata, IPv6 with a zone": {addr: "fd00:ec2::254%eth0", blocked: true, always: true},
		"metadata, another cloud":    {addr: "100.100.100.200", blocked: true, always: true},
		"link-local":                 {addr: "169.254.1.1", blocked: true, always: true},
		"link-local IPv6":            {addr: "fe80::1%eth0", blocked: true, always: true},
		"unspecified":                {addr: "0.0.0.0", blocked: true, always: true},
		"this network":               {addr: "0.1.2.3", blocked: true, always: true},
		"unspecified IPv6":           {addr: "::", blocked: true, always: true},
		"multicast":                  {addr: "224.0.0.1", blocked: true, always: true},
		"multicast IPv6":             {addr: "ff02::1", blocked: true, always: true},
		"broadcast":                  {addr: "255.255.255.255", blocked: true, always: true},
		"public by NAT64":            {addr: "64:ff9b::5db8:d822"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			addr := netip.MustParseAddr(tc.addr)
			for _, allow := range []bool{false, true} {
				err := guard{allowLoopback: allow}.check(addr)
				want := tc.blocked && (tc.always || !allow)
				if (err != nil) != want || (want && artifact.CodeOf(err) != artifact.SourceBlocked) {
					t.Errorf("loopback allowed %v: %v", allow, err)
				}
			}
		})
	}
}

func TestBlockedAddresses(t *testing.T) {
	t.Parallel()
	server, local := serve(t, whole(content(1000)))
	port := strings.Split(strings.TrimPrefix(local, "http://"), "/")[0]
	_, byPort, _ := strings.Cut(port, ":")
	_, redirecting := serve(t, status(302, "Location", "http://169.254.169.254/latest/meta-data"))
	strict, lenient := testOptions(), testOptions()
	strict.AllowLoopback = false
	tests := map[string]struct {
		url  string
		opts Options
	}{
		"literal":               {url: local, opts: strict},
		"by name, after DNS":    {url: "http://localhost:" + byPort + "/x", opts: strict},
		"mapped literal":        {url: "http://[::ffff:127.0.0.1]:" + byPort + "/x", opts: strict},
		"metadata":              {url: "http://169.254.169.254/latest", opts: lenient},
		"unspecified":           {url: "http://0.0.0.0:" + byPort + "/x", opts: lenient},
		"redirect to metadata":  {url: redirecting, opts: lenient},
		"metadata through IPv6": {url: "http://[fd00:ec2::254]/latest", opts: lenient},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req, _ := request(t, tc.url)
			_, err := newFetcher(t, tc.opts).Fetch(t.Context(), req)
			if artifact.CodeOf(err) != artifact.SourceBlocked {
				t.Errorf("error %v", err)
			}
			if _, err := newFetcher(t, tc.opts).Small(t.Context(), tc.url, 100); artifact.CodeOf(err) != artifact.SourceBlocked {
				t.Errorf("small file: error %v", err)
			}
		})
	}
	t.Cleanup(func() {
		if got := len(server.requests()); got != 0 {
			t.Errorf("%d requests came through", got)
		}
	})
}

// TestProxy uses a proxy on this machine: it is the operator's choice and not guarded, what it is asked for is.
func TestProxy(t *testing.T) {
	t.Parallel()
	data := content(1000)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Host != "images.example.invalid" && r.URL.Host != "93.184.216.34" {
			w.WriteHeader(http.StatusTeapot)
			return
		}
		whole(data)(w, r)
	}))
	t.Cleanup(proxy.Close)
	at, err := url.Parse(proxy.URL)
	if err != nil {
		t.Fatal(err)
	}
	o := testOptions()
	o.AllowLoopback = false
	o.Proxy = func(r *http.Request) (*url.URL, error) {
		if strings.HasPrefix(r.URL.Host, "127.9.") {
			return nil, nil //nolint:nilnil // that is how "no proxy" is said
		}
		return at, nil
	}
	for target, code := range map[string]artifact.Code{
		"http://images.example.invalid/x": "",
		"http://93.184.216.34/x":          "",
		"http://169.254.169.254/x":        artifact.SourceBlocked,
		"http://[::ffff:127.0.0.1]/x":     artifact.SourceBlocked,
		"http://localhost/x":              artifact.SourceBlocked,
		"http://a.localhost./x":           artifact.SourceBlocked,
		"http://127.9.0.1:1/x":            artifact.SourceBlocked,
		proxy.URL + "/x":                  artifact.SourceBlocked,
	} {
		t.Run(target, func(t *testing.T) {
			t.Parallel()
			req, _ := request(t, target)
			if _, err := newFetcher(t, o).Fetch(t.Context(), req); artifact.CodeOf(err) != code {
				t.Errorf("error %v, want code %q", err, code)
			}
		})
	}
}

func TestControlWantsAnAddress(t *testing.T) {
	t.Parallel()
	if err := (guard{}).control(context.Background(), "tcp", "/run/socket", nil); artifact.CodeOf(err) != artifact.SourceBlocked {
		t.Errorf("error %v", err)
	}
}
