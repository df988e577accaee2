package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/hopscope/hopscope/internal/files"
	"github.com/spf13/cobra"
)

// putJSON writes data to a file, or for "-" to standard output.
func putJSON(c *cobra.Command, file string, data []byte) error {
	return putTo(c, file, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// putTo lets fill write to a file, or for "-" to standard output. Who reads a pipe only
// in part is told, unlike a reader of the report, as it may look whole.
func putTo(c *cobra.Command, file string, fill func(io.Writer) error) error {
	if file != "-" {
		return files.Write(file, fill)
	}
	signal.Ignore(syscall.SIGPIPE)
	err := fill(c.OutOrStdout())
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.EPIPE):
		return &status{exitPipe, errors.New("standard output was closed before all of the result was written")}
	}
	return cannotWrite(err)
}

func cannotWrite(err error) error {
	return fmt.Errorf("cannot write standard output: %w", files.Reason(err))
}

// checkFile refuses a path that no file can be written to; "" and "-" are none.
func checkFile(flag, path string) error {
	if path == "" || path == "-" {
		return nil
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return fmt.Errorf("%s %s: is a directory; name a file", flag, path)
	}
	dir := filepath.Dir(path)
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return fmt.Errorf("%s %s: there is no directory %s", flag, path, dir)
	}
	if err := files.Check(path); err != nil {
		return fmt.Errorf("%s %s: cannot be written: %w", flag, path, err)
	}
	return nil
}

// output is a flag that names a file, standard output or a directory, and its value.
type output struct {
	flag, path string
	makes      []string // patterns of the names that its files have in a directory
}

// checkApart refuses outputs that would be written over each other: two files to standard
// output, two to one name, a file and a directory, or one that has the name of a file that
// another makes in its directory. One directory may take several flags' files, whose names
// differ.
func checkApart(files []output, dirs ...output) error {
	for _, a := range slices.Concat(files, dirs) {
		for _, d := range dirs {
			if name := a.replaces(d); name != "" {
				return fmt.Errorf("%s %s: would be written over the %s of %s %s; name another",
					a.flag, a.path, name, d.flag, d.path)
			}
		}
	}
	for i, a := range files {
		for _, b := range files[:i] {
			switch {
			case a.path == "" || b.path == "":
			case a.path == "-" && b.path == "-":
				return fmt.Errorf("%s - and %s - both write to standard output; give one of them a file", b.flag, a.flag)
			case samePath(a.path, b.path):
				return fmt.Errorf("%s and %s both name %s; give each a name of its own", b.flag, a.flag, a.path)
			}
		}
		for _, d := range dirs {
			if a.path != "-" && samePath(a.path, d.path) {
				return fmt.Errorf("%s and %s both name %s; %s makes a directory, %s a file", a.flag, d.flag, a.path, d.flag, a.flag)
			}
		}
	}
	return nil
}

// replaces is the name of the file in the directory d that a would be written over, or "".
func (a output) replaces(d output) string {
	if a.path == "" || a.path == "-" || d.path == "" {
		return ""
	}
	path := a.path
	if to, err := filepath.EvalSymlinks(path); err == nil {
		path = to
	}
	for _, pattern := range d.makes {
		name := filepath.Base(path)
		if is, _ := filepath.Match(pattern, name); is && samePath(filepath.Dir(path), d.path) {
			return name
		}
	}
	return ""
}

// samePath reports whether two names lead to one file, which need not exist yet.
func samePath(a, b string) bool {
	return a != "" && b != "" && (filepath.Clean(a) == filepath.Clean(b) || sameFile(a, b))
}
