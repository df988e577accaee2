// Package files puts results under their names whole or not at all, whatever ends the
// program while it writes.
package files

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Set is a group of files of one directory that get their names together. Each is
// written under a temporary name beside the one it is to have, so that a full disk
// leaves the directory as it was. A symbolic link is followed, and a file that is
// replaced keeps its mode. Into what is no regular file, such as a FIFO or a device,
// the data go at once, as there is nothing to rename.
type Set struct {
	dir     string
	made    []string // directories that were made for it, the outermost first
	waiting []waiting
}

// waiting is a file that is written and has not got its name yet. It stays open, and
// locked, so that no other program takes it for a leftover.
type waiting struct {
	temp *os.File
	to   string
}

// NewSet begins a group of files in dir, which must exist.
func NewSet(dir string) *Set { return &Set{dir: dir} }

// NewSetIn begins a group of files in dir, which is made if need be, and goes again when no file
// got its name there.
func NewSetIn(dir string) (*Set, error) {
	s := NewSet(dir)
	for d := filepath.Clean(dir); ; d = filepath.Dir(d) {
		if _, err := os.Lstat(d); err == nil || filepath.Dir(d) == d {
			break
		}
		s.made = append([]string{d}, s.made...)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		s.Discard()
		return nil, fmt.Errorf("cannot make %s: %w", dir, Reason(err))
	}
	return s, nil
}

// bufferSize is how much is gathered for one call of the operating system, in bytes.
const bufferSize = 1 << 18

// Write adds the file of the given name, which fill writes. An error names the file,
// not its temporary name.
func (s *Set) Write(name string, fill func(io.Writer) error) error {
	path := filepath.Join(s.dir, name)
	t, err := targetOf(path)
	if err == nil && t.through {
		err = writeThrough(t.path, fill)
	} else if err == nil {
		err = s.writeTemp(t, fill)
	}
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", path, Reason(err))
	}
	return nil
}

func (s *Set) writeTemp(t target, fill func(io.Writer) error) error {
	f, err := createTemp(t.path)
	if err != nil {
		return err
	}
	s.waiting = append(s.waiting, waiting{f, t.path})
	if err := fillBuffered(f, fill); err != nil {
		return err
	}
	if err := f.Chmod(t.mode); err != nil {
		return err
	}
	return f.Sync() // what a disk or a server refuses late is an error before the name is given
}

// Commit gives all files their names, in the order in which they were written.
func (s *Set) Commit() error {
	for len(s.waiting) > 0 {
		w := s.waiting[0]
		if err := os.Rename(w.temp.Name(), w.to); err != nil {
			return fmt.Errorf("cannot write %s: %w", w.to, Reason(err))
		}
		s.waiting = s.waiting[1:]
		if err := w.temp.Close(); err != nil {
			return fmt.Errorf("cannot write %s: %w", w.to, Reason(err))
		}
		if dir := filepath.Dir(w.to); len(s.waiting) == 0 || filepath.Dir(s.waiting[0].to) != dir {
			SyncDir(dir)
		}
	}
	return nil
}

// SyncDir has the names that a directory holds reach the disk, where a directory can be asked
// for that: a name that was given outlasts a loss of power. The data did so before.
func SyncDir(dir string) {
	d, err := os.Open(dir)
	if err != nil {
		return
	}
	defer d.Close()
	_ = d.Sync() // some file systems refuse; they have no better
}

// Discard removes what has not got its name, and directories that were made for it and are
// empty. After Commit it does nothing.
func (s *Set) Discard() {
	for _, w := range s.waiting {
		_ = os.Remove(w.temp.Name()) // what cannot be removed the next writer tries again
		_ = w.temp.Close()
	}
	s.waiting = nil
	for i := len(s.made) - 1; i >= 0; i-- {
		_ = os.Remove(s.made[i]) // fails where something is in it
	}
}

// Write writes one file as a Set does.
func Write(path string, fill func(io.Writer) error) error {
	s := NewSet(filepath.Dir(path))
	defer s.Discard()
	if err := s.Write(filepath.Base(path), fill); err != nil {
		return err
	}
	return s.Commit()
}

// Put adds the file of the given name with these data.
func (s *Set) Put(name string, data []byte) error {
	return s.Write(name, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// Put writes data to a file as a Set does.
func Put(path string, data []byte) error {
	return Write(path, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// Check reports why the file path could not be written: it makes the temporary file
// that Write would, and removes it. What is no regular file is not tried.
func Check(path string) error {
	t, err := targetOf(path)
	if end, ok := danglingEnd(path); ok && err == nil {
		return leadsTo(end, checkDirectory(filepath.Dir(end)))
	}
	if err == nil && !t.through {
		err = try(t.path)
	}
	if err != nil {
		return Reason(err)
	}
	return nil
}

// danglingEnd is what a symbolic link, or the last of a chain, names; ok is false where path
// is no link or leads to something.
func danglingEnd(path string) (end string, ok bool) {
	const most = 40 // links in a chain, as Linux follows
	for range most {
		info, err := os.Lstat(path)
		if err != nil {
			return path, ok && errors.Is(err, fs.ErrNotExist)
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			return path, false
		}
		to, err := os.Readlink(path)
		if err != nil {
			return path, false
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(path), to)
		}
		path, ok = to, true
	}
	return path, false
}

// leadsTo says of an error that it is about what a link leads to.
func leadsTo(end string, err error) error {
	if err != nil {
		return fmt.Errorf("leads to %s: %w", end, err)
	}
	return nil
}

// CheckDir reports why no files could be written to dir, or to the nearest directory
// above it that exists.
func CheckDir(dir string) error {
	for {
		up := filepath.Dir(dir)
		if end, ok := danglingEnd(dir); ok {
			return leadsTo(end, errors.New("there is no such directory"))
		}
		if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) && up != dir {
			dir = up
			continue
		}
		return checkDirectory(dir)
	}
}

// checkDirectory reports why no files could be written to dir, which is there.
func checkDirectory(dir string) error {
	info, err := os.Stat(dir)
	switch {
	case err != nil:
		return Reason(err)
	case !info.IsDir():
		return fmt.Errorf("%s is a file", dir)
	}
	if err := try(filepath.Join(dir, "hopscope")); err != nil {
		return Reason(err)
	}
	return nil
}

// try makes a temporary file for path with a block of data, which a full disk refuses, and
// removes it.
func try(path string) error {
	f, err := createTemp(path)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.Write(make([]byte, 4096))
	return errors.Join(err, os.Remove(f.Name()))
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
	case info.IsDir():
		return target{}, errors.New("is a directory")
	case !info.Mode().IsRegular():
		return target{path, 0, true}, nil
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil { // an open file without a name, by way of /dev/fd
		return target{path, 0, true}, nil
	}
	return target{real, info.Mode().Perm(), false}, nil
}

// Temporary names: .NAME.RANDOM.tmp.
const tempEnd = ".tmp"

// IsTemp reports whether an entry of a directory is a temporary file for name.
func IsTemp(entry, name string) bool {
	return strings.HasPrefix(entry, "."+name+".") && strings.HasSuffix(entry, tempEnd)
}

// createTemp makes a temporary file for path and locks it. What programs that were killed
// left there before goes.
func createTemp(path string) (*os.File, error) {
	dir, name := filepath.Split(path)
	RemoveLeftovers(filepath.Clean(dir), name)
	for {
		f, err := os.CreateTemp(filepath.Clean(dir), "."+name+".*"+tempEnd)
		if err != nil {
			return nil, err
		}
		lock(f)
		// Before the lock another program may have taken it for a leftover.
		if now, err := os.Stat(f.Name()); err == nil {
			if mine, err := f.Stat(); err == nil && os.SameFile(now, mine) {
				return f, nil
			}
		}
		_ = f.Close()
	}
}

// RemoveLeftovers removes temporary files for name in dir that nobody writes any more.
func RemoveLeftovers(dir, name string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return // making a file says what is wrong
	}
	for _, e := range entries {
		if e.Type().IsRegular() && IsTemp(e.Name(), name) {
			removeUnlocked(filepath.Join(dir, e.Name()))
		}
	}
}

// removeUnlocked removes a file that no program holds locked.
func removeUnlocked(path string) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return
	}
	defer f.Close()
	if lock(f) {
		_ = os.Remove(path)
	}
}

// fillBuffered lets fill write to f.
func fillBuffered(f *os.File, fill func(io.Writer) error) error {
	w := bufio.NewWriterSize(f, bufferSize)
	if err := fill(w); err != nil {
		return err
	}
	return w.Flush()
}

// writeThrough lets fill write into whatever path names.
func writeThrough(path string, fill func(io.Writer) error) error {
	f, err := openThrough(path)
	if err != nil {
		return err
	}
	err = fillBuffered(f, fill)
	if e := f.Close(); err == nil {
		err = e
	}
	return err
}

// Reason strips what the operating system's error says about temporary names.
func Reason(err error) error {
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
