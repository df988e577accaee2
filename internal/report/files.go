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

// WriteFile writes data to path by way of a temporary file beside it, so that
// path holds either its old content or all of the new.
func WriteFile(path string, data []byte) error {
	return writeSet(filepath.Dir(path), []file{{filepath.Base(path), data}})
}

// writeSet writes all files under temporary names before it renames the first:
// a full disk leaves dir as it was.
func writeSet(dir string, files []file) (err error) {
	var temps []string
	defer func() {
		for _, t := range temps { // those renamed are gone already
			if e := os.Remove(t); err == nil && e != nil && !errors.Is(e, fs.ErrNotExist) {
				err = e
			}
		}
	}()
	for _, f := range files {
		t, err := writeTemp(dir, f)
		if t != "" {
			temps = append(temps, t)
		}
		if err != nil {
			return fmt.Errorf("cannot write %s: %w", filepath.Join(dir, f.name), reason(err))
		}
	}
	for i, f := range files {
		target := filepath.Join(dir, f.name)
		if err := os.Rename(temps[i], target); err != nil {
			return fmt.Errorf("cannot write %s: %w", target, reason(err))
		}
	}
	return nil
}

func writeTemp(dir string, f file) (name string, err error) {
	t, err := os.CreateTemp(dir, "."+f.name+".*.tmp")
	if err != nil {
		return "", err
	}
	_, err = t.Write(f.data)
	if err == nil {
		err = t.Chmod(0o644)
	}
	if e := t.Close(); err == nil {
		err = e
	}
	return t.Name(), err
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
