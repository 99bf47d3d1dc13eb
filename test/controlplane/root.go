package controlplane

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

const modulePath = "github.com/capcat/capcat"

// Root returns the top folder of this repository, looked for from the working folder upwards.
func Root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("finding the repository: %w", err)
	}
	for from := dir; ; dir = filepath.Dir(dir) {
		b, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && declares(string(b), modulePath) {
			return dir, nil
		}
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return "", fmt.Errorf("finding the repository: %w", err)
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("finding the repository: no folder above %s holds module %s", from, modulePath)
		}
	}
}

func declares(goMod, module string) bool {
	for line := range strings.Lines(goMod) {
		if name, ok := strings.CutPrefix(line, "module "); ok {
			return strings.TrimSpace(name) == module
		}
	}
	return false
}
