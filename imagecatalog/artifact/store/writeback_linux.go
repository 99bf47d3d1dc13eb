package store

import (
	"os"
	"syscall"
)

const syncFileRangeWrite = 2

// startWriteback asks the kernel to begin writing a range to disk, so that the sync at the end is short. It is only a hint.
func startWriteback(f *os.File, offset, n int64) {
	_ = syscall.SyncFileRange(int(f.Fd()), offset, n, syncFileRangeWrite)
}
