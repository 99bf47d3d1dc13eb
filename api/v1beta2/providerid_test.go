package v1beta2_test

import (
	"strings"
	"testing"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
)

func TestParseProviderID(t *testing.T) {
	const id = "6d2b8b2e-5f0e-4f0e-9d1b-2a3c4d5e6f70"
	tests := map[string]struct {
		text string
		want string // empty when it is an error
	}{
		"ours":                          {text: "cloudstack:///" + id, want: id},
		"two slashes":                   {text: "cloudstack://" + id, want: id},
		"the cloud controller manager":  {text: "external-cloudstack://" + id, want: id},
		"the same with three slashes":   {text: "external-cloudstack:///" + id, want: id},
		"quotes that user data left":    {text: "cloudstack:///'" + id + "'", want: id},
		"capitals":                      {text: "cloudstack:///" + strings.ToUpper(id), want: id},
		"a number":                      {text: "cloudstack:///17", want: "17"},
		"the bare word of an old one":   {text: "external-cloudstack"},
		"nothing":                       {text: ""},
		"no id":                         {text: "cloudstack:///"},
		"the id alone":                  {text: id},
		"another cloud":                 {text: "openstack:///" + id},
		"a path":                        {text: "cloudstack:///zone/" + id},
		"a query":                       {text: "cloudstack:///" + id + "?x=y"},
		"an id that is too long":        {text: "cloudstack:///" + strings.Repeat("a", 65)},
		"a scheme that only looks like": {text: "xcloudstack:///" + id},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := infrav1.ParseProviderID(tc.text)
			if got != tc.want || (err == nil) != (tc.want != "") {
				t.Errorf("ParseProviderID(%q) = %q, %v, want %q", tc.text, got, err, tc.want)
			}
			if tc.want == "" {
				return
			}
			if again, err := infrav1.ParseProviderID(infrav1.ProviderID(got)); again != got || err != nil {
				t.Errorf("What is written is read back as %q, %v", again, err)
			}
		})
	}
}
