package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

// ExitError ends the process with its own code. Err may be nil when everything was already printed.
type ExitError struct {
	// Code is the exit code of the process, 1 to 125.
	Code int
	// Err is printed on stderr unless it is nil.
	Err error
}

// Error is the text of the cause.
func (e *ExitError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit code %d", e.Code)
	}
	return e.Err.Error()
}

// Unwrap gives the cause.
func (e *ExitError) Unwrap() error { return e.Err }

// NewRoot builds the command tree: results go to stdout, progress and errors to stderr.
func NewRoot(stdout, stderr io.Writer) *cobra.Command {
	root := &cobra.Command{
		Use:           "capcat",
		Short:         "Look at node images the way the CAPCat image pipeline does",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.SetOut(stdout)
	root.SetErr(stderr)
	root.AddCommand(
		newBuild(stdout, stderr),
		newConvert(stdout, stderr),
		newInspect(stdout, stderr),
		newKey(stdout, stderr),
		newPublish(stdout, stderr),
		newResolve(stdout, stderr),
		newVerify(stdout, stderr),
		newVerifyIndex(stdout, stderr),
	)
	return root
}

// Execute runs one command line and gives the exit code of the process: 0 when all went well, the code of an ExitError,
// else 1. Errors are printed on stderr.
func Execute(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	root := NewRoot(stdout, stderr)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	var exit *ExitError
	if !errors.As(err, &exit) {
		exit = &ExitError{Code: 1, Err: err}
	}
	if exit.Err != nil {
		fmt.Fprintln(stderr, "capcat:", exit.Err)
	}
	return exit.Code
}
