package process

import (
	"errors"
	"os"
	"syscall"
)

// hold binds a port until this process ends, and never listens. It binds alone, so it fails where anybody has the port, and lets
// others bind to it only afterwards: children that listen, for all of Go's listeners ask for SO_REUSEADDR.
func hold(port int) error {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return os.NewSyscallError("socket", err)
	}
	err = os.NewSyscallError("bind", syscall.Bind(fd, &syscall.SockaddrInet4{Port: port}))
	if err == nil {
		err = os.NewSyscallError("setsockopt", syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1))
	}
	if err == nil {
		err = listens(port)
	}
	if err != nil {
		return errors.Join(err, syscall.Close(fd))
	}
	return nil
}
