package importer

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestMain fails when a goroutine of this package outlives the tests. In a process that a test started, it imports instead.
func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		if err := importAsChild(dir, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	code := m.Run()
	if left := leftovers("imagecatalog/importer.(", time.Minute); left != "" && code == 0 {
		fmt.Fprintln(os.Stderr, "goroutines left:\n"+left)
		code = 1
	}
	os.Exit(code)
}

// leftovers gives the stacks of goroutines that still run code with that mark when the time is over.
func leftovers(mark string, patience time.Duration) string {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	deadline := time.Now().Add(patience)
	for {
		buf := make([]byte, 1<<20)
		var found []string
		for _, stack := range strings.Split(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
			if strings.Contains(stack, mark) && !strings.Contains(stack, "TestMain") {
				found = append(found, stack)
			}
		}
		if len(found) == 0 || time.Now().After(deadline) {
			return strings.Join(found, "\n\n")
		}
		<-tick.C
	}
}

func waitFor(t *testing.T, done func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-ctx.Done():
			t.Fatal("waited in vain")
		case <-tick.C:
		}
	}
}
