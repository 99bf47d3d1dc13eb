//go:build unix

package build

import (
	"errors"
	"os"
	"syscall"
)

// lockLog takes the log for this build until it is closed, or says that another one has it. Where the file system knows no locks
// there is none.
func lockLog(log *os.File) error {
	for {
		err := syscall.Flock(int(log.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case errors.Is(err, syscall.EWOULDBLOCK):
			return ErrBusy
		case !errors.Is(err, syscall.EINTR):
			return nil
		}
	}
}
