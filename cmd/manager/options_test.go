package main

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

func TestOptions(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		want []string // parts of the error; none means that the flags are fine
	}{
		"defaults": {},
		"everything of a cluster": {args: []string{
			"--leader-elect", "--diagnostics-address=:8443", "--serve-addr=:8082", "--serve-external-url=https://images.example.org/capcat",
			"--namespace=capc-system", "--watch-filter=blue", "--sync-period=5m", "--webhook-port=9443", "-v=4",
		}},
		"no webhooks need no certificate": {args: []string{"--webhook-port=0", "--webhook-cert-dir="}},
		"webhooks need one":               {args: []string{"--webhook-cert-dir="}, want: []string{"--webhook-cert-dir", "--webhook-port=0"}},
		"hooks with their own port":       {args: []string{"--runtime-extension-addr=:9444"}},
		"hooks need a certificate too": {
			args: []string{"--webhook-port=0", "--runtime-extension-addr=:9444", "--webhook-cert-dir="}, want: []string{"--webhook-cert-dir", "--runtime-extension-addr"},
		},
		"hooks on the port of webhooks":      {args: []string{"--runtime-extension-addr=:9443"}, want: []string{"both take the port 9443"}},
		"a port of hooks that is none":       {args: []string{"--runtime-extension-addr=:70000"}, want: []string{"--runtime-extension-addr", "HOST:PORT"}},
		"an address of hooks without a port": {args: []string{"--runtime-extension-addr=9444"}, want: []string{"--runtime-extension-addr", "HOST:PORT"}},
		"all that is wrong at once": {
			args: []string{"--image-workers=0", "--data-dir=images", "--cloudstack-qps=0"},
			want: []string{"--image-workers is 0, must be at least 1", `--data-dir is "images"`, "--cloudstack-qps"},
		},
		"external URL without a server":     {args: []string{"--serve-external-url=http://a.example.org"}, want: []string{"--serve-addr is not"}},
		"external URL of another scheme":    {args: []string{"--serve-addr=:1", "--serve-external-url=ftp://a.example.org"}, want: []string{"http or https"}},
		"external URL with a secret":        {args: []string{"--serve-addr=:1", "--serve-external-url=http://me:secret@a.example.org"}, want: []string{"no user"}},
		"an address without a port":         {args: []string{"--health-addr=localhost"}, want: []string{"--health-addr", "HOST:PORT"}},
		"a port that is none":               {args: []string{"--webhook-port=70000"}, want: []string{"65535"}},
		"a renewal slower than the lease":   {args: []string{"--leader-elect", "--leader-elect-renew-deadline=20s"}, want: []string{"longer"}},
		"authorities that are not there":    {args: []string{"--fetch-ca-file=/none/ca.pem"}, want: []string{"--fetch-ca-file"}},
		"a negative store":                  {args: []string{"--store-max-bytes=-1"}, want: []string{"--store-max-bytes is -1"}},
		"nothing to look at objects":        {args: []string{"--templatecatalog-concurrency=0"}, want: []string{"--templatecatalog-concurrency"}},
		"no time between two looks at them": {args: []string{"--sync-period=0s"}, want: []string{"--sync-period"}},
	} {
		t.Run(name, func(t *testing.T) {
			o, fs := newOptions(), pflag.NewFlagSet("manager", pflag.ContinueOnError)
			o.addFlags(fs)
			if err := fs.Parse(c.args); err != nil {
				t.Fatal(err)
			}
			err := o.validate()
			if (err != nil) != (len(c.want) > 0) {
				t.Fatalf("got %v", err)
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error does not contain %q: %v", want, err)
				}
			}
			if err != nil && strings.Contains(err.Error(), "secret@") {
				t.Errorf("the error repeats a secret: %v", err)
			}
		})
	}
}

func TestPublicHost(t *testing.T) {
	if (pipelineOptions{}).publicHost() != nil {
		t.Error("without the flag the addresses must decide")
	}
	allowed := pipelineOptions{pullHosts: []string{"images.example.org", ".internal.example.org"}}.publicHost()
	for host, want := range map[string]bool{
		"images.example.org": true, "Images.Example.org": true, "a.internal.example.org": true, "a.b.internal.example.org": true,
		"internal.example.org": false, "evil-images.example.org": false, "example.org": false, "": false,
	} {
		if got := allowed(t.Context(), host); got != want {
			t.Errorf("%q: got %v, want %v", host, got, want)
		}
	}
}
