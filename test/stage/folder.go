package stage

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

const lockName = "lock"

// TakeFolder empties a folder and locks it for this process, so that two do not share one. The caller must give it back.
func TakeFolder(dir string) (giveBack func() error, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	lock, err := os.OpenFile(filepath.Join(dir, lockName), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = lock.Close() // nothing was written
		return nil, fmt.Errorf("another process works in %s: stop it first", dir)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return lock.Close, err
	}
	for _, e := range entries {
		if e.Name() == lockName {
			continue
		}
		if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
			return lock.Close, err
		}
	}
	return lock.Close, nil
}
