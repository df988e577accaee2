package report

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// file is one file of a set that is written together.
type file struct {
	name string
	data []byte
}

// WriteFile writes data to path. A regular file, or one that is not there yet,
// is written by way of a temporary file beside it, so that it holds either its
// old content or all of the new; its mode stays. A symbolic link is followed,
// and into what is no regular file, a FIFO or a device, the data is written.
func WriteFile(path string, data []byte) error {
	return writeSet(filepath.Dir(path), []file{{filepath.Base(path), data}})
}

// target is where a file of a set really goes.
type target struct {
	path    string      // with symbolic links resolved, unless through
	mode    fs.FileMode // permissions
	through bool        // write into what is there, rather than put a new file in its place
}

// newFileMode is the mode of files that did not exist before.
const newFileMode = 0o644

// targetOf looks at what path names now.
func targetOf(path string) (target, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		// A link that leads nowhere yet: opening it makes the file it names.
		link, e := os.Lstat(path)
		return target{path, newFileMode, e == nil && link.Mode()&fs.ModeSymlink != 0}, nil
	case err != nil:
		return target{}, err
	case !info.Mode().IsRegular():
		return target{path, 0, true}, nil
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil { // an open file without a name, by way of /dev/fd
		return target{path, 0, true}, nil
	}
	return target{real, info.Mode().Perm(), false}, nil
}

// writeSet writes all files under temporary names before it renames the first:
// a full disk leaves dir as it was. What is written through comes last.
func writeSet(dir string, files []file) (err error) {
	temps, targets := make([]string, len(files)), make([]target, len(files))
	defer func() {
		for _, t := range temps { // those renamed are gone already
			if e := removeTemp(t); err == nil {
				err = e
			}
		}
	}()
	failed := func(f file, err error) error {
		return fmt.Errorf("cannot write %s: %w", filepath.Join(dir, f.name), reason(err))
	}
	for i, f := range files {
		t, err := targetOf(filepath.Join(dir, f.name))
		if err == nil && !t.through {
			temps[i], err = writeTemp(t, f.data)
		}
		if err != nil {
			return failed(f, err)
		}
		targets[i] = t
	}
	for i, f := range files {
		if targets[i].through {
			continue
		}
		if err := os.Rename(temps[i], targets[i].path); err != nil {
			return failed(f, err)
		}
	}
	for i, f := range files {
		if !targets[i].through {
			continue
		}
		if err := writeThrough(targets[i].path, f.data); err != nil {
			return failed(f, err)
		}
	}
	return nil
}

// writeTemp writes data to a new file beside the target.
func writeTemp(to target, data []byte) (name string, err error) {
	t, err := os.CreateTemp(filepath.Dir(to.path), "."+filepath.Base(to.path)+".*.tmp")
	if err != nil {
		return "", err
	}
	_, err = t.Write(data)
	if err == nil {
		err = t.Chmod(to.mode)
	}
	if e := t.Close(); err == nil {
		err = e
	}
	return t.Name(), err
}

// removeTemp removes a temporary file if it is still there.
func removeTemp(name string) error {
	if name == "" {
		return nil
	}
	if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// writeThrough writes data into whatever path names.
func writeThrough(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, newFileMode)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if e := f.Close(); err == nil {
		err = e
	}
	return err
}

// reason strips what the operating system's error says about temporary names.
func reason(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	var l *os.LinkError
	if errors.As(err, &l) {
		return l.Err
	}
	return err
}
