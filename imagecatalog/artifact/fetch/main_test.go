package fetch

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestMain fails when a goroutine of this package outlives the tests.
func TestMain(m *testing.M) {
	code := m.Run()
	if left := leftovers("imagecatalog/artifact/fetch.(", time.Minute); left != "" && code == 0 {
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
