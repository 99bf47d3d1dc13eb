//go:build unix

package catalogfile

import (
	"errors"
	"os"
	"syscall"
)

// lock keeps other writers of catalogs out of a folder until unlock is called; they wait, for moments. Where the file system knows no
// locks there is none.
func lock(dir string) (unlock func() error, err error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	for {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if err != nil && !errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, syscall.ENOLCK) && !errors.Is(err, syscall.EBADF) {
		return nil, errors.Join(err, f.Close())
	}
	return f.Close, nil
}
