package run_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/hopscope/hopscope/internal/run"
)

// Reading ends as soon as the context does, even while a pipe that nobody writes to is
// opened, where no other check could come.
func TestCancelWhileReading(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe.yaml")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skip(err)
	}
	defer func() { // lets the reader go
		if f, err := os.OpenFile(pipe, os.O_RDWR, 0); err == nil {
			f.Close()
		}
	}()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	r, v, err := run.Do(ctx, run.Options{Scenario: pipe, Workers: 1})
	if r != nil || v != nil || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, %v, %v", r, v, err)
	}
}

// What ends before the context does is returned.
func TestUnless(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if n, err := run.Unless(ctx, func() (int, error) { return 7, nil }); n != 7 || err != nil {
		t.Errorf("got %d, %v", n, err)
	}
	wrong := errors.New("wrong")
	if _, err := run.Unless(ctx, func() (int, error) { return 0, wrong }); !errors.Is(err, wrong) {
		t.Errorf("got %v", err)
	}
}
