package faults

import (
	"fmt"
	"os"
	"testing"
)

// TellEnv names a file to which tests add a line about what they tried, for whoever started them.
const TellEnv = "CAPCAT_FAULTS_TOLD"

// Tell says what a test tried: in its log, and in the file that TellEnv names.
func Tell(t *testing.T, text string) {
	t.Helper()
	t.Log(text)
	path := os.Getenv(TellEnv)
	if path == "" {
		return
	}
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := fmt.Fprintf(file, "%s: %s\n", t.Name(), text); err != nil {
		t.Error(err)
	}
}
