package cmd

import (
	"io"

	"github.com/spf13/cobra"
)

func newInspect(stdout, stderr io.Writer) *cobra.Command {
	return &cobra.Command{Use: "inspect FILE|URL", Short: "Say whether an image is fit for CloudStack", Args: cobra.ExactArgs(1)}
}
