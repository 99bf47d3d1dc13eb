package imagecatalog_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/capcat/capcat/imagecatalog"
)

func version(t *testing.T, text string) imagecatalog.Version {
	t.Helper()
	v, err := imagecatalog.ParseVersion(text)
	if err != nil {
		t.Fatalf("ParseVersion(%q): %v", text, err)
	}
	return v
}

func TestParseVersion(t *testing.T) {
	tests := map[string]struct {
		text string
		want string // canonical form
		hint string // part of the error when the text is refused
	}{
		"with v":                           {text: "v1.33.1", want: "v1.33.1"},
		"without v":                        {text: "1.33.1", want: "v1.33.1"},
		"pre-release":                      {text: "v1.33.0-rc.1", want: "v1.33.0-rc.1"},
		"build":                            {text: "v1.33.1+k3s1", want: "v1.33.1+k3s1"},
		"pre-release and build":            {text: "1.32.0-alpha.0.156+983875b2f5bf64", want: "v1.32.0-alpha.0.156+983875b2f5bf64"},
		"FIPS":                             {text: "1.21.8-fips.0", want: "v1.21.8-fips.0"},
		"empty":                            {text: "", hint: "empty"},
		"two v":                            {text: "vv1.33.1", hint: "three numbers"},
		"capital V":                        {text: "V1.33.1", hint: "small v"},
		"two parts":                        {text: "v1.33", hint: "three numbers"},
		"four parts":                       {text: "v1.33.1.2", hint: "three numbers"},
		"leading zero":                     {text: "v1.30.05", hint: "three numbers"},
		"blank in front":                   {text: " v1.33.1", hint: "blank"},
		"newline at the end":               {text: "v1.33.1\n", hint: "blank"},
		"word":                             {text: "stable", hint: "three numbers"},
		"latest patch":                     {text: "v1.33.x", hint: "three numbers"},
		"range":                            {text: ">=1.33.0", hint: "ranges"},
		"alternatives":                     {text: "1.33.1||1.33.2", hint: "ranges"},
		"underscore":                       {text: "v1.32.0-alpha.0.156_983875b2f5bf64", hint: "plus sign"},
		"package revision":                 {text: "1.29.6-1.1", hint: "write v1.29.6"},
		"package revision of older times":  {text: "v1.27.2-00", hint: "three numbers"},
		"empty build":                      {text: "v1.33.1+", hint: "three numbers"},
		"empty pre-release":                {text: "v1.33.1-", hint: "three numbers"},
		"longer than any version can be":   {text: "v1.33.1+" + strings.Repeat("a", 60), hint: "longer than 63"},
		"number larger than machines have": {text: "v1.33.99999999999999999999999", hint: "three numbers"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := imagecatalog.ParseVersion(tc.text)
			if tc.hint == "" {
				if err != nil || got.String() != tc.want {
					t.Errorf("ParseVersion(%q) = %v, %v, want %s", tc.text, got, err, tc.want)
				}
				return
			}
			var refused *imagecatalog.VersionError
			if !errors.As(err, &refused) || !strings.Contains(refused.Hint, tc.hint) {
				t.Errorf("ParseVersion(%q) = %v, %v, want a hint with %q", tc.text, got, err, tc.hint)
			}
		})
	}
}

func TestVersionOrderIsTotal(t *testing.T) {
	want := []string{
		"v1.31.9", "v1.32.0-alpha.1", "v1.32.0-rc.1", "v1.32.0", "v1.32.3", "v1.32.3+b", "v1.32.3+b2", "v1.32.3+b10", "v1.32.3+k3s1", "v1.32.10", "v1.33.0",
	}
	var versions []imagecatalog.Version
	for _, text := range []string{
		"v1.32.3+b10", "v1.33.0", "v1.32.3", "v1.32.10", "v1.32.3+k3s1", "v1.32.0-rc.1", "v1.32.3+b2", "v1.31.9", "v1.32.0", "v1.32.0-alpha.1", "v1.32.3+b",
	} {
		versions = append(versions, version(t, text))
	}
	slices.SortFunc(versions, imagecatalog.Version.Compare)
	var got []string
	for _, v := range versions {
		got = append(got, v.String())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Order (-want +got):\n%s", diff)
	}
}
