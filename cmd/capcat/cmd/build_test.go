package cmd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestSourceDate(t *testing.T) {
	for text, want := range map[string]string{
		"": "0001-01-01T00:00:00Z", "1782907200": "2026-07-01T12:00:00Z", "946684800": "2000-01-01T00:00:00Z",
		"0": "error", "-5": "error", "9999999999": "error", "today": "error", "99999999999999999999": "error",
	} {
		t.Setenv(dateEnv, text)
		date, err := sourceDate()
		got := date.Format(time.RFC3339)
		if err != nil {
			got = "error"
		}
		if got != want {
			t.Errorf("%q: got %s (%v), want %s", text, got, err, want)
		}
	}
}

func TestBuildTellsWhatIsWrong(t *testing.T) {
	dir := t.TempDir()
	for what, c := range map[string]struct {
		args []string
		want string
	}{
		"no system":      {nil, "capcat build --list"},
		"unknown system": {[]string{"plan-9"}, "there are debian-12, debian-13"},
		"version":        {[]string{"debian-12", "--kubernetes-version", "v1.2.3"}, "there are v1."},
		"recipes":        {[]string{"debian-12", "--recipes", filepath.Join(dir, "none")}, "there is no file os/<name>/os.pkrvars.hcl"},
		"space":          {[]string{"debian-12", "--min-free", "much"}, "min-free"},
		"mirror":         {[]string{"debian-12", "--packages-from", "ftp://h/x"}, "no http or https address"},
	} {
		t.Run(what, func(t *testing.T) {
			args := append([]string{"build", "--dir", filepath.Join(dir, "out")}, c.args...)
			stdout, stderr, code := capcat(t, args...)
			if code != 1 || !strings.Contains(stderr, c.want) || stdout != "" {
				t.Errorf("exit %d, %q, %q, want %q", code, stdout, stderr, c.want)
			}
			if _, err := os.Stat(filepath.Join(dir, "out")); err == nil {
				t.Error("the folder was made")
			}
		})
	}
}

func TestBuildListsRecipes(t *testing.T) {
	stdout, stderr, code := capcat(t, "build", "--list")
	if code != 0 || !strings.Contains(stdout, "  debian-12\n") || !strings.Contains(stdout, "Kubernetes:\n  v1.") {
		t.Errorf("exit %d, %q, %q", code, stdout, stderr)
	}
}
