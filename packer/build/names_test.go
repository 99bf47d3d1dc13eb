package build

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSettingsAreRead(t *testing.T) {
	tests := map[string]struct {
		text string
		want settings
		err  string
	}{
		"strings": {text: "# c\na = \"x # y\" // z\n\nb=3\n", want: settings{text: map[string]string{"a": "x # y", "b": "3"}}},
		"list":    {text: "l = [\n  \"v1\", # new\n  \"v2\"\n]\nm = [\"a\", \"b\"]\nn = []\n", want: settings{list: map[string][]string{"l": {"v1", "v2"}, "m": {"a", "b"}}}},
		"map":     {text: "d = {\n  amd64 = \"x\"\n  \"arm64\" = \"y\",\n}\n", want: settings{dict: map[string]map[string]string{"d": {"amd64": "x", "arm64": "y"}}}},
		"no end":  {text: "d = {\n", err: "d is not closed"},
		"no sign": {text: "\nhello\n", err: "line 2: \"hello\" is no assignment"},
		"escapes": {text: "a = \"x\\n\"\n", err: "no plain string"},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := parseSettings(strings.NewReader(c.text))
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("got %v, want %q", err, c.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range []struct {
				name      string
				want, got any
				empty     bool
			}{
				{"text", c.want.text, got.text, len(c.want.text)+len(got.text) == 0},
				{"list", c.want.list, got.list, len(c.want.list)+len(got.list) == 0},
				{"dict", c.want.dict, got.dict, len(c.want.dict)+len(got.dict) == 0},
			} {
				if diff := cmp.Diff(want.want, want.got); diff != "" && !want.empty {
					t.Errorf("%s (-want +got):\n%s", want.name, diff)
				}
			}
		})
	}
}

func TestSeenByGuest(t *testing.T) {
	for address, want := range map[string]string{
		"http://127.0.0.1:8080/m":      "http://10.0.2.2:8080/m",
		"http://localhost/m":           "http://10.0.2.2/m",
		"http://[::1]:80":              "http://10.0.2.2:80",
		"https://mirror.example.com/m": "https://mirror.example.com/m",
		"http://10.1.2.3:80/m":         "http://10.1.2.3:80/m",
	} {
		if got := seenByGuest(address); got != want {
			t.Errorf("%s: got %s, want %s", address, got, want)
		}
	}
}

func TestEntryNames(t *testing.T) {
	for name, want := range map[string]string{
		"debian-12-kube-v1.36.3":        "debian-12-kube-v1-36-3",
		"Mine_A.":                       "mine-a",
		strings.Repeat("a", 70):         strings.Repeat("a", 63),
		strings.Repeat("a.", 31) + ".x": strings.TrimSuffix(strings.Repeat("a-", 31), "-"),
	} {
		if got := entryName(name); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}

func TestFindFirmware(t *testing.T) {
	dir := t.TempDir()
	here, absent := filepath.Join(dir, "QEMU_EFI.fd"), filepath.Join(dir, "none.fd")
	if err := os.WriteFile(here, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		architecture, asked string
		known               []string
		want                string
		is                  error
	}{
		"amd64 needs none":         {architecture: "amd64", known: []string{here}},
		"amd64 that asks for one":  {architecture: "amd64", asked: here, want: here},
		"arm64 finds one":          {architecture: "arm64", known: []string{absent, here}, want: here},
		"arm64 that asks for one":  {architecture: "arm64", asked: here, want: here},
		"arm64 without one":        {architecture: "arm64", known: []string{absent}, is: ErrMissingTool},
		"one that is not there":    {architecture: "arm64", asked: absent, known: []string{here}, is: os.ErrNotExist},
		"amd64, one not there too": {architecture: "amd64", asked: absent, is: os.ErrNotExist},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := findFirmware(c.architecture, c.asked, c.known)
			if got != c.want || !errors.Is(err, c.is) {
				t.Errorf("got %q, %v, want %q, %v", got, err, c.want, c.is)
			}
		})
	}
}
