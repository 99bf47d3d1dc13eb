package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	capcat "github.com/capcat/capcat/cmd/capcat/cmd"
)

const usageWidth = 110

// writeCommands writes one page with all verbs of capcat.
func writeCommands(root string) error {
	tree := capcat.NewRoot(io.Discard, io.Discard)
	var b strings.Builder
	fmt.Fprintf(&b, "# capcat\n\n%s. It needs no cluster. The same program is a kubectl plugin when it is installed as `kubectl-capcat`.\n", tree.Short)
	for _, c := range tree.Commands() {
		if c.IsAvailableCommand() && c.Name() != "completion" {
			commandSection(&b, c)
		}
	}
	return writePage(root, "reference/capcat.md", b.String())
}

func commandSection(b *strings.Builder, c *cobra.Command) {
	text := c.Long
	if text == "" {
		text = c.Short
	}
	fmt.Fprintf(b, "\n## %s\n\n%s\n", c.CommandPath(), demote(strings.TrimSpace(text)))
	fmt.Fprintf(b, "\n```\n%s\n```\n", c.UseLine())
	if c.Example != "" {
		fmt.Fprintf(b, "\n```\n%s\n```\n", strings.TrimSpace(c.Example))
	}
	flags := c.NonInheritedFlags()
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Name == "help" {
			f.Hidden = true
		}
	})
	if usage := flags.FlagUsagesWrapped(usageWidth); usage != "" {
		fmt.Fprintf(b, "\nFlags:\n\n```\n%s```\n", usage)
	}
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			commandSection(b, sub)
		}
	}
}

// demote puts the headings of a text below the one of its section. Lines of fenced code stay as they are.
func demote(text string) string {
	var b strings.Builder
	fenced := false
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "```") {
			fenced = !fenced
		}
		if strings.HasPrefix(line, "#") && !fenced {
			b.WriteString("##")
		}
		b.WriteString(line)
	}
	return b.String()
}

// writeManagerFlags asks the manager for its flags.
func writeManagerFlags(ctx context.Context, root string) error {
	cmd := exec.CommandContext(ctx, "go", "run", "./cmd/manager", "--help")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		if exit := new(exec.ExitError); errors.As(err, &exit) {
			err = fmt.Errorf("%w\n%s", err, exit.Stderr)
		}
		return fmt.Errorf("asking the manager for its flags: %w", err)
	}
	return writePage(root, "reference/manager.md",
		"# Flags of the manager\n\nThe flags up to `--diagnostics-address` and the TLS ones are those of every Cluster API provider.\n\n```\n"+string(out)+"```\n")
}
