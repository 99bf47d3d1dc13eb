package stage

import (
	"context"
	"fmt"
	"os/exec"

	"github.com/capcat/capcat/test/controlplane"
)

// Build builds commands of this repository into a folder, each under its own name.
func Build(ctx context.Context, dir string, commands ...string) error {
	root, err := controlplane.Root()
	if err != nil {
		return err
	}
	args := []string{"build", "-trimpath", "-o", dir}
	for _, name := range commands {
		args = append(args, "./cmd/"+name)
	}
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = root
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("building %v: %w\n%s", commands, err, text)
	}
	return nil
}
