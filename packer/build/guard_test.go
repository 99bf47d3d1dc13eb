//go:build unix

package build

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// What a program that was killed leaves is a closed pipe.
func TestGuardCleansUpAfterTheProgram(t *testing.T) {
	for name, running := range map[string]bool{"while Packer runs": true, "while nothing runs": false} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "work")
			if err := os.MkdirAll(filepath.Join(dir, "machine"), 0o755); err != nil {
				t.Fatal(err)
			}
			g, err := newGuard(dir)
			if err != nil {
				t.Fatal(err)
			}
			// The first process has started another one, as Packer starts QEMU; the pipe ends with the last of both.
			packer := exec.CommandContext(t.Context(), "/bin/sh", "-c", "sleep 60 & wait")
			asGroup(packer)
			out, err := packer.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := packer.Start(); err != nil {
				t.Fatal(err)
			}
			if err := g.watch(packer.Process.Pid); err != nil {
				t.Error(err)
			}
			if !running {
				if err := errors.Join(endGroup(packer), g.watch(0)); err != nil {
					t.Error(err)
				}
			}
			if err := errors.Join(g.pipe.Close(), g.shell.Wait()); err != nil {
				t.Error(err)
			}
			if n, err := out.Read(make([]byte, 1)); err == nil {
				t.Errorf("%d bytes came from what should have ended", n)
			}
			if err := packer.Wait(); err == nil {
				t.Error("the program ended by itself")
			}
			if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the folder is still there: %v", err)
			}
		})
	}
}

func TestGuardThatEndsLeavesTheFolder(t *testing.T) {
	dir := t.TempDir()
	g, err := newGuard(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := g.end(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(dir); err != nil {
		t.Error(err)
	}
}
