//go:build unix

package store

import (
	"errors"
	"syscall"

	"github.com/capcat/capcat/imagecatalog/artifact"
)

// diskError tells a full disk from other faults.
func diskError(doing string, err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return artifact.WrapError(artifact.NoSpace, doing, err)
	}
	return artifact.WrapError(artifact.StoreFailed, doing, err)
}
