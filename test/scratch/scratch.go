package scratch

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Folder is a folder that this process holds. When the process ends, however that happens, the next Take of the same name removes it.
type Folder struct {
	// Path of the folder, absolute.
	Path string

	lock *os.File
}

// Take makes a folder NAME-... below the temporary one, and removes those of this name that no process holds any more: so what a run that
// failed or was killed has left lies there until the next one, and no longer.
func Take(name string) (*Folder, error) { return takeIn(os.TempDir(), name) }

// takeIn is Take below another folder.
func takeIn(parent, name string) (*Folder, error) {
	// Whoever takes or removes folders holds the one around them, so that none is removed between being made and being held.
	gate, err := hold(parent, syscall.LOCK_EX)
	if err != nil {
		return nil, err
	}
	defer gate.Close()
	if err := sweep(parent, name); err != nil {
		return nil, err
	}
	path, err := os.MkdirTemp(parent, name+"-")
	if err != nil {
		return nil, fmt.Errorf("making a folder: %w", err)
	}
	f := &Folder{Path: path}
	if f.lock, err = hold(path, syscall.LOCK_EX); err != nil {
		return nil, err
	}
	return f, nil
}

// sweep removes the folders of a name that nobody holds. Those of other users are left to them.
func sweep(parent, name string) error {
	entries, err := os.ReadDir(parent)
	if err != nil {
		return fmt.Errorf("looking for old folders: %w", err)
	}
	var errs []error
	for _, e := range entries {
		// What os.MkdirTemp puts behind the name is a number: capcat-e2e-1 is not one of capcat.
		number, is := strings.CutPrefix(e.Name(), name+"-")
		if !e.IsDir() || !is || strings.Trim(number, "0123456789") != "" {
			continue
		}
		path := filepath.Join(parent, e.Name())
		held, err := hold(path, syscall.LOCK_EX|syscall.LOCK_NB)
		if err != nil {
			continue
		}
		if err := os.RemoveAll(path); err != nil && !errors.Is(err, fs.ErrPermission) {
			errs = append(errs, fmt.Errorf("removing an old folder: %w", err))
		}
		errs = append(errs, held.Close())
	}
	return errors.Join(errs...)
}

// hold opens a folder and locks it until it is closed.
func hold(path string, how int) (*os.File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), how); err != nil {
		return nil, errors.Join(fmt.Errorf("locking %s: %w", path, err), f.Close())
	}
	return f, nil
}

// Remove removes the folder.
func (f *Folder) Remove() error { return errors.Join(os.RemoveAll(f.Path), f.lock.Close()) }

// KeepLogs removes everything but files named *.log. The folder is held until the process ends.
func (f *Folder) KeepLogs() error {
	var folders []string
	err := filepath.WalkDir(f.Path, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			folders = append(folders, path)
			return nil
		case strings.HasSuffix(path, ".log"):
			return nil
		}
		return os.Remove(path)
	})
	for i := len(folders) - 1; i >= 0; i-- {
		_ = os.Remove(folders[i]) // unless it has logs in it
	}
	return err
}
