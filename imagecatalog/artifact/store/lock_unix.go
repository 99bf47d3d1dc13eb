//go:build unix

package store

import (
	"errors"
	"os"
	"syscall"
)

// lockShared waits for a shared lock. It is short: an exclusive lock is only held while a file is removed.
func lockShared(f *os.File) error { return flock(f, syscall.LOCK_SH) }

// tryLock takes an exclusive lock, and says false when somebody else has one.
func tryLock(f *os.File) (bool, error) {
	err := flock(f, syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}

func flock(f *os.File, how int) error {
	for {
		err := syscall.Flock(int(f.Fd()), how)
		if !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}
