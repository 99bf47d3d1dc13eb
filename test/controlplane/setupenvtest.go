package controlplane

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

const (
	setupEnvtestTool = "sigs.k8s.io/controller-runtime/tools/setup-envtest@v0.25.1"
	// setupEnvtestTime bounds the download, so that a network that swallows packets delays a build from source no longer than this.
	setupEnvtestTime = 90 * time.Second
)

// setupEnvtest returns the programs that the tool of that name has downloaded before or can download now. They are of the same
// minor version as the pinned ones.
func setupEnvtest(ctx context.Context, cache string) (Programs, error) {
	minor := APIServerVersion[1:strings.LastIndex(APIServerVersion, ".")]
	bin := filepath.Join(cache, "envtest")
	had, err := filepath.Glob(filepath.Join(bin, "k8s", minor+".*-"+platform()))
	if err != nil {
		return Programs{}, fmt.Errorf("looking for earlier downloads: %w", err)
	}
	for _, dir := range had {
		if p, err := in(dir); err == nil {
			return p, nil
		}
	}
	ctx, cancel := context.WithTimeout(ctx, setupEnvtestTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", "run", setupEnvtestTool, "use", minor+".x", "--bin-dir", bin, "-p", "path")
	cmd.Dir = filepath.Dir(cache) // outside any module
	cmd.WaitDelay = time.Second
	var said strings.Builder
	cmd.Stderr = &said
	dir, err := cmd.Output()
	if err != nil {
		return Programs{}, errors.New(lastPart(said.String()))
	}
	return in(strings.TrimSpace(string(dir)))
}

// lastPart returns the end of the last line that is not the go tool's own: Go's errors name the cause last.
func lastPart(text string) string {
	last := "it said nothing"
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "exit status") {
			last = line
		}
	}
	if i := strings.LastIndex(last, "dial tcp: "); i >= 0 {
		return last[i:]
	}
	return last
}
