package process_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/capcat/capcat/test/process"
)

func script(t *testing.T, text string) process.Spec {
	t.Helper()
	return process.Spec{Name: "child", Path: "/bin/sh", Args: []string{"-c", text}, Log: filepath.Join(t.TempDir(), "log")}
}

func TestStartWaitsUntilReady(t *testing.T) {
	s := script(t, `touch "$READY"; exec sleep 60`)
	mark := filepath.Join(t.TempDir(), "ready")
	s.Env = []string{"READY=" + mark}
	s.Ready = func(context.Context) error {
		_, err := os.Stat(mark)
		return err
	}
	p, err := process.Start(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Stop(); err != nil {
		t.Fatalf("Stop: %v", err)
	}
	if err := p.Stop(); err != nil {
		t.Fatalf("second Stop: %v", err)
	}
}

func TestStartReportsAnEarlyEnd(t *testing.T) {
	s := script(t, `echo no such flag >&2; exit 3`)
	s.Ready = func(context.Context) error { return errors.New("not yet") }
	_, err := process.Start(t.Context(), s)
	if !errors.Is(err, process.ErrExited) {
		t.Fatalf("got %v, want ErrExited", err)
	}
	for _, want := range []string{"exit status 3", "no such flag"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error does not contain %q: %v", want, err)
		}
	}
}

func TestStartGivesUpWithTheContext(t *testing.T) {
	s := script(t, `exec sleep 60`)
	s.Ready = func(context.Context) error { return errors.New("connection refused") }
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := process.Start(ctx, s)
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "connection refused") {
		t.Fatalf("got %v, want the deadline and the last answer", err)
	}
}

func TestStopKillsAChildThatDoesNotListen(t *testing.T) {
	s := script(t, `trap "" TERM; echo ready; while :; do sleep 60; done`)
	s.Grace = 50 * time.Millisecond
	s.Ready = func(context.Context) error {
		b, _ := os.ReadFile(s.Log)
		if !strings.Contains(string(b), "ready") {
			return errors.New("not yet")
		}
		return nil
	}
	p, err := process.Start(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Stop(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Fatalf("got %v, want a note that it was killed", err)
	}
}
