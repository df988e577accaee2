package report

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// What is no regular file is written into and stays what it is.
func TestWriteFileThroughFIFO(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skipf("no FIFOs here: %v", err)
	}
	reader, err := os.OpenFile(path, os.O_RDWR, 0) // both ends, so that nothing blocks
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	if err := WriteFile(path, []byte("data")); err != nil {
		t.Fatal(err)
	}
	info, err := os.Lstat(path)
	if err != nil || info.Mode().Type() != fs.ModeNamedPipe {
		t.Fatalf("the FIFO is now %v, %v", info.Mode(), err)
	}
	got := make([]byte, 4)
	if _, err := reader.Read(got); err != nil || string(got) != "data" {
		t.Errorf("read %q, %v", got, err)
	}
}

// A link stays a link, and the file it leads to keeps its mode. A link that
// leads nowhere makes the file.
func TestWriteFileByLink(t *testing.T) {
	for _, exists := range []bool{true, false} {
		dir := t.TempDir()
		other := filepath.Join(dir, "other")
		if err := os.Mkdir(other, 0o755); err != nil {
			t.Fatal(err)
		}
		real, link := filepath.Join(other, "real"), filepath.Join(dir, "link")
		want := fs.FileMode(0o644)
		if exists {
			want = 0o600
			if err := os.WriteFile(real, []byte("old"), want); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Symlink(filepath.Join("other", "real"), link); err != nil {
			t.Skipf("no links here: %v", err)
		}
		if err := WriteFile(link, []byte("new")); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Lstat(link); err != nil || info.Mode()&fs.ModeSymlink == 0 {
			t.Errorf("the link is now %v, %v", info.Mode(), err)
		}
		if got, err := os.ReadFile(real); err != nil || string(got) != "new" {
			t.Errorf("the file holds %q, %v", got, err)
		}
		if info, err := os.Stat(real); err != nil || exists && info.Mode().Perm() != want {
			t.Errorf("the file's mode is %v, %v; want %v", info.Mode(), err, want)
		}
		for _, d := range []string{dir, other} {
			entries, _ := os.ReadDir(d)
			for _, e := range entries {
				if strings.HasSuffix(e.Name(), ".tmp") {
					t.Errorf("%s was left behind", e.Name())
				}
			}
		}
	}
}
