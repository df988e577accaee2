package files

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Stream is a file that is written bit by bit, for as long as a run takes, and gets its name when it is
// whole, as those of a Set do.
type Stream struct {
	path string
	set  Set      // of the one file, unless it has no temporary name
	file *os.File // that is written
	mode fs.FileMode
	w    *bufio.Writer
}

// Create begins a file. Discard must be called when it is not to be any more.
func Create(path string) (*Stream, error) {
	s := &Stream{path: path}
	t, err := targetOf(path)
	switch {
	case err != nil:
	case t.through:
		s.file, err = openThrough(t.path)
	default:
		if s.file, err = createTemp(t.path); err == nil {
			s.mode, s.set.waiting = t.mode, []waiting{{s.file, t.path}}
		}
	}
	if err != nil {
		return nil, s.failed(err)
	}
	s.w = bufio.NewWriterSize(s.file, bufferSize)
	return s, nil
}

func (s *Stream) failed(err error) error {
	return fmt.Errorf("cannot write %s: %w", s.path, Reason(err))
}

// Write implements io.Writer.
func (s *Stream) Write(p []byte) (int, error) {
	n, err := s.w.Write(p)
	if err != nil {
		err = s.failed(err)
	}
	return n, err
}

// Commit gives the file its name.
func (s *Stream) Commit() error {
	err := s.w.Flush()
	if len(s.set.waiting) == 0 {
		if e := s.file.Close(); err == nil {
			err = e
		}
	} else if err == nil {
		err = errors.Join(s.file.Chmod(s.mode), s.file.Sync())
	}
	if err != nil {
		return s.failed(err)
	}
	return s.set.Commit()
}

// Discard removes what has not got its name. After Commit it does nothing.
func (s *Stream) Discard() {
	if len(s.set.waiting) == 0 {
		_ = s.file.Close() // a second time, after Commit
	}
	s.set.Discard()
}

// Free is how many bytes more a file may take where it is to be; ok is false where nothing tells: into what is
// no regular file, or on a system that does not say.
func Free(path string) (bytes int64, ok bool) {
	t, err := targetOf(path)
	if err != nil || t.through {
		return 0, false
	}
	return freeIn(filepath.Dir(t.path))
}

// openThrough opens whatever path names for writing.
func openThrough(path string) (*os.File, error) {
	// Opening a FIFO waits for its reader, and no signal ends that: without one it fails here.
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC|syscall.O_NONBLOCK, newFileMode)
	if errors.Is(err, syscall.ENXIO) {
		return nil, &fs.PathError{Op: "open", Path: path, Err: errors.New("nobody reads from it")}
	}
	return f, err
}
