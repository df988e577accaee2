//go:build unix

package files

import (
	"io"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A FIFO that nobody reads is an error: opening it would wait where no signal reaches.
func TestFIFOWithoutReader(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip(err)
	}
	err := Write(path, func(w io.Writer) error { _, err := w.Write([]byte("x")); return err })
	if err == nil || !strings.Contains(err.Error(), "nobody reads from it") {
		t.Errorf("got %v", err)
	}
}
