package files

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// What is no regular file is written into and stays what it is.
func TestPutThroughFIFO(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skipf("no FIFOs here: %v", err)
	}
	reader, err := os.OpenFile(path, os.O_RDWR, 0) // both ends, so that nothing blocks
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	if err := Put(path, []byte("data")); err != nil {
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
func TestPutByLink(t *testing.T) {
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
		if err := Put(link, []byte("new")); err != nil {
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

func fill(data string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, data)
		return err
	}
}

// A set of which one file cannot be written changes nothing.
func TestFailureChangesNothing(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a"), []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	s := NewSet(dir)
	if err := s.Write("a", fill("new")); err != nil {
		t.Fatal(err)
	}
	if err := s.Write("no/such/dir", fill("")); err == nil || strings.Contains(err.Error(), ".tmp") {
		t.Errorf("error %v", err)
	}
	s.Discard()
	if data, _ := os.ReadFile(filepath.Join(dir, "a")); string(data) != "old" {
		t.Errorf("a holds %q", data)
	}
	onlyFiles(t, dir, "a")
}

func TestPutAgain(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "r.json")
	for _, data := range []string{"first", "second"} {
		if err := Put(path, []byte(data)); err != nil {
			t.Fatal(err)
		}
		if got, _ := os.ReadFile(path); string(got) != data {
			t.Errorf("holds %q, want %q", got, data)
		}
	}
	onlyFiles(t, dir, "r.json")
	if err := os.Mkdir(filepath.Join(dir, "taken"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := Put(filepath.Join(dir, "taken"), []byte("x")); err == nil {
		t.Error("wrote over a directory")
	}
	onlyFiles(t, dir, "r.json", "taken")
}

// onlyFiles fails unless dir holds the named files (in order) and nothing else.
func onlyFiles(t *testing.T, dir string, names ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if !slices.Equal(got, names) {
		t.Errorf("%s holds %q, want %q", dir, got, names)
	}
}

// What fails half-way leaves the old file and nothing else.
func TestFailingFill(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "r.json")
	if err := Put(path, []byte("old")); err != nil {
		t.Fatal(err)
	}
	err := Write(path, func(w io.Writer) error {
		if _, err := w.Write(make([]byte, 1<<20)); err != nil {
			return err
		}
		return errors.New("no more")
	})
	if err == nil || err.Error() != "cannot write "+path+": no more" {
		t.Errorf("error %v", err)
	}
	if got, _ := os.ReadFile(path); string(got) != "old" {
		t.Errorf("holds %q", got)
	}
	onlyFiles(t, dir, "r.json")
}

// The temporary file of a program that was killed goes with the next write; that of one
// that still writes stays.
func TestLeftovers(t *testing.T) {
	dir := t.TempDir()
	dead := filepath.Join(dir, ".r.json.123.tmp")
	if err := os.WriteFile(dead, []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(dir, ".other.123.tmp")
	if err := os.WriteFile(other, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s := NewSet(dir)
	if err := s.Write("r.json", fill("first")); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dead); err == nil {
		t.Error("the leftover is still there")
	}
	if err := Put(filepath.Join(dir, "r.json"), []byte("second")); err != nil {
		t.Fatal(err)
	}
	if err := s.Commit(); err != nil {
		t.Errorf("what was still being written was removed: %v", err)
	}
	if got, _ := os.ReadFile(filepath.Join(dir, "r.json")); string(got) != "first" {
		t.Errorf("holds %q", got)
	}
	onlyFiles(t, dir, ".other.123.tmp", "r.json")
}

// One program at a time has a directory; what was made for it and holds nothing goes.
func TestClaim(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	c, err := ClaimDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ClaimDir(dir); !errors.Is(err, ErrClaimed) {
		t.Errorf("claimed twice: %v", err)
	}
	c.Release()
	if _, err := os.Stat(filepath.Dir(dir)); err == nil {
		t.Error("an empty directory was left behind")
	}
	if c, err = ClaimDir(dir); err != nil {
		t.Fatal(err)
	}
	if err := Put(filepath.Join(dir, "x"), nil); err != nil {
		t.Fatal(err)
	}
	c.Release()
	onlyFiles(t, dir, "x")
}

// A link that leads nowhere makes the file it names, if there is a directory for it, and no
// directory: both are said before, through a chain of links too.
func TestCheckDanglingLink(t *testing.T) {
	dir := t.TempDir()
	link := func(name, to string) string {
		path := filepath.Join(dir, name)
		if err := os.Symlink(to, path); err != nil {
			t.Skipf("no links here: %v", err)
		}
		return path
	}
	fine, none := link("fine", "x"), link("none", "absent/x")
	chain, circle := link("chain", "none"), link("circle", "circle")
	for path, ok := range map[string]bool{fine: true, none: false, chain: false, circle: false} {
		if err := Check(path); (err == nil) != ok || err == nil != (Put(path, nil) == nil) {
			t.Errorf("%s: %v", path, err)
		}
	}
	for _, path := range []string{none, chain, circle, filepath.Join(none, "below")} {
		if err := CheckDir(path); err == nil {
			t.Errorf("directory %s can be made", path)
		}
	}
}

// What could not be written is said before, and trying leaves nothing.
func TestCheck(t *testing.T) {
	dir := t.TempDir()
	if err := Check(filepath.Join(dir, "x")); err != nil {
		t.Error(err)
	}
	if err := CheckDir(filepath.Join(dir, "a", "b")); err != nil {
		t.Error(err)
	}
	onlyFiles(t, dir)
	if err := Check("/proc/x"); err == nil {
		t.Error("/proc/x can be written")
	}
	if err := CheckDir("/proc/self/x"); err == nil {
		t.Error("/proc/self/x can be written to")
	}
}

// Directories that were made for files that did not come to be go again; those that were there,
// or hold something, stay.
func TestDirectoriesOfNothing(t *testing.T) {
	top := t.TempDir()
	s, err := NewSetIn(filepath.Join(top, "a", "b"))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Write("x", func(io.Writer) error { return syscall.ENOSPC }); err == nil {
		t.Fatal("a file that could not be filled was written")
	}
	s.Discard()
	if _, err := os.Lstat(filepath.Join(top, "a")); err == nil {
		t.Error("the empty directories stayed")
	}
	if s, err = NewSetIn(filepath.Join(top, "a", "b")); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.Put("x", []byte("1")), s.Commit()); err != nil {
		t.Fatal(err)
	}
	s.Discard()
	if got, err := os.ReadFile(filepath.Join(top, "a", "b", "x")); string(got) != "1" {
		t.Errorf("the file holds %q, %v", got, err)
	}
	if err := os.WriteFile(filepath.Join(top, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := NewSetIn(filepath.Join(top, "file", "d")); err == nil {
		t.Error("a directory in a file was made")
	}
}
