package report

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/hopscope/hopscope/internal/files"
	"github.com/hopscope/hopscope/internal/record"
)

// Files of a run directory.
const (
	MetaFile     = "run.json"      // what the directory is, and the digests of the others
	ResultFile   = "result.json"   // the Document
	ScenarioFile = "scenario.yaml" // the scenario as given; of foreign files, what they amount to
)

// runFormat identifies a run directory.
const runFormat = "hopscope run directory"

// Meta is run.json: how the run was asked for. Nothing in it is compared
// between runs.
type Meta struct {
	Format   string   `json:"format"`
	Version  int      `json:"version"`
	Program  string   `json:"program"`         // version of hopscope that wrote it
	Scenario string   `json:"scenario"`        // name or file as given, or the flags that name foreign files
	Set      []string `json:"set,omitempty"`   // --set key=value, in order
	Seed     uint64   `json:"seed"`            // the one that was used
	Files    []Digest `json:"files,omitempty"` // the other files
	Own      string   `json:"sha256"`          // of this file, with nothing in the place of this digest
	Source   []byte   `json:"-"`               // of the scenario file, as Load read it
}

// encode is run.json, with the digest of itself.
func (m *Meta) encode() ([]byte, error) {
	m.Own = ""
	bare, err := json.MarshalIndent(m, "", " ")
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", MetaFile, err)
	}
	sum := sha256.Sum256(bare)
	m.Own = hex.EncodeToString(sum[:])
	whole, err := json.MarshalIndent(m, "", " ")
	return append(whole, '\n'), err
}

// decodeMeta reads run.json. Another byte than encode wrote is an error.
func decodeMeta(data []byte) (*Meta, error) {
	var m Meta
	if err := json.Unmarshal(data, &m); err != nil || m.Format != runFormat {
		return nil, errors.New("not written by hopscope, or cut short; run the scenario again with --out")
	}
	if m.Version != Version {
		return nil, versionError{"run directory", m.Version}
	}
	own := m.Own
	again, err := m.encode()
	if err != nil || m.Own != own || !bytes.Equal(again, data) {
		return nil, errors.New("changed or cut short since the run wrote it; run the scenario again with --out")
	}
	return &m, nil
}

// Digest is a file of the directory and the SHA-256 of its bytes.
type Digest struct {
	Name   string `json:"name"`
	SHA256 string `json:"sha256"`
}

// RunDir is a run directory that this program is to write, and no other.
type RunDir struct {
	dir   string
	claim *files.Claim
}

// OpenDir makes dir if need be and claims it. It says at once what Save could only say
// when the run is over: that dir holds something else, may not be written to, or is being
// written by another program. A run directory may be written again. What a program that
// was killed left half-done there is finished or removed.
func OpenDir(dir string) (*RunDir, error) {
	claim, err := files.ClaimDir(dir)
	switch {
	case errors.Is(err, files.ErrClaimed):
		return nil, fmt.Errorf("%s: another run is writing there; name a new one", dir)
	case err != nil:
		return nil, fmt.Errorf("cannot use %s as a run directory: %w", dir, err)
	}
	d := &RunDir{dir, claim}
	if err := d.prepare(); err != nil {
		d.Close()
		return nil, err
	}
	return d, nil
}

// Close gives the directory up. One that OpenDir made and nothing was saved in goes.
func (d *RunDir) Close() { d.claim.Release() }

func (d *RunDir) prepare() error {
	entries, err := os.ReadDir(d.dir)
	if err != nil {
		return fmt.Errorf("cannot use %s as a run directory: %w", d.dir, files.Reason(err))
	}
	if slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return !leftover(e.Name()) }) {
		if _, err := readMeta(d.dir); err != nil {
			return fmt.Errorf("%s is neither empty nor a run directory; name a new one", d.dir)
		}
	}
	if err := files.CheckDir(d.dir); err != nil {
		return fmt.Errorf("cannot write to %s: %w", d.dir, err)
	}
	return d.settle()
}

// A result takes the place of the last one in two steps, so that the directory holds one
// of them whole whenever the program is killed. First all files are written under the
// names of runNames with nextEnd; with the last of these, run.json's, the new result
// counts. Then each gets its own name, run.json last again.

// nextEnd ends the names of files that are to take the place of others.
const nextEnd = ".next"

// runNames are the files of a run directory in the order in which they are written.
func runNames() [3]string { return [...]string{ResultFile, ScenarioFile, MetaFile} }

// leftover reports whether an entry of a directory was left by a program that was killed
// before its result counted.
func leftover(entry string) bool {
	for _, name := range runNames() {
		if entry == name+nextEnd && name != MetaFile || files.IsTemp(entry, name) || files.IsTemp(entry, name+nextEnd) {
			return true
		}
	}
	return false
}

// settle gives the files of a result that counts their names, and removes those of one
// that does not.
func (d *RunDir) settle() error {
	_, err := os.Stat(filepath.Join(d.dir, MetaFile+nextEnd))
	counts := err == nil
	for _, name := range runNames() {
		next := filepath.Join(d.dir, name+nextEnd)
		var err error
		if counts {
			err = os.Rename(next, filepath.Join(d.dir, name))
		} else {
			err = os.Remove(next)
			files.RemoveLeftovers(d.dir, name)
			files.RemoveLeftovers(d.dir, name+nextEnd)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // a program that was killed had done it
			return fmt.Errorf("cannot write %s: %w", filepath.Join(d.dir, name), files.Reason(err))
		}
	}
	if counts {
		files.SyncDir(d.dir)
	}
	return nil
}

// Save writes the result, the scenario's source, and meta, whose Format, Version and Files
// it fills in; so many workers encode the result. When it fails, the directory holds what
// it held before.
func (d *RunDir) Save(r *record.Run, source []byte, meta Meta, workers int) error {
	set := files.NewSet(d.dir)
	defer set.Discard()
	meta.Format, meta.Version, meta.Files = runFormat, Version, nil
	add := func(name string, fill func(io.Writer) error) error {
		sum := sha256.New()
		err := d.write(set, name, func(w io.Writer) error { return fill(io.MultiWriter(w, sum)) })
		meta.Files = append(meta.Files, Digest{name, hex.EncodeToString(sum.Sum(nil))})
		return err
	}
	if err := add(ResultFile, func(w io.Writer) error { return WriteJSON(w, r, workers) }); err != nil {
		return err
	}
	if err := add(ScenarioFile, func(w io.Writer) error { return put(w, source) }); err != nil {
		return err
	}
	described, err := meta.encode()
	if err != nil {
		return err
	}
	err = d.write(set, MetaFile, func(w io.Writer) error { return put(w, described) })
	if err != nil {
		return err
	}
	return errors.Join(set.Commit(), d.settle())
}

// write adds a file under the name that it has first. Errors give it its own.
func (d *RunDir) write(set *files.Set, name string, fill func(io.Writer) error) error {
	if err := set.Write(name+nextEnd, fill); err != nil {
		return fmt.Errorf("cannot write %s: %w", filepath.Join(d.dir, name), errors.Unwrap(err))
	}
	return nil
}

func put(w io.Writer, data []byte) error {
	_, err := w.Write(data)
	return err
}

// Reading is how a run directory is read; its zero value will do.
type Reading struct {
	Workers int // goroutines that decode messages; 0: one
	// Progress hears now and then how many bytes of how many were read.
	Progress func(done, all int64)
}

// Load reads a run directory back. Directories of other programs, missing
// files and files changed or cut short since they were written are errors of
// one line.
func Load(dir string, how Reading) (*record.Run, *Meta, error) {
	meta, err := readMeta(dir)
	if err != nil {
		return nil, nil, err
	}
	var r *record.Run
	heard := counter{say: how.Progress, all: sizeOf(dir, meta.Files)}
	for _, d := range meta.Files {
		read := func(from io.Reader) (err error) {
			if d.Name == ResultFile {
				r, err = ReadJSON(from, max(1, how.Workers))
			}
			if d.Name == ScenarioFile {
				meta.Source, err = io.ReadAll(from)
			}
			return err
		}
		if err := readDigested(dir, d, &heard, read); err != nil {
			return nil, nil, err
		}
	}
	if r == nil {
		return nil, nil, fmt.Errorf("%s names no %s: not a hopscope result", filepath.Join(dir, MetaFile), ResultFile)
	}
	return r, meta, nil
}

// counter counts the bytes that are read.
type counter struct {
	say       func(done, all int64)
	done, all int64
}

// Write takes bytes that were read.
func (c *counter) Write(data []byte) (int, error) {
	c.done += int64(len(data))
	if c.say != nil {
		c.say(c.done, c.all)
	}
	return len(data), nil
}

// sizeOf is how many bytes the files of a directory have, as far as they are there.
func sizeOf(dir string, list []Digest) (all int64) {
	for _, d := range list {
		f, err := openFile(dir, filepath.Base(d.Name))
		if err != nil {
			continue // which reading it will say
		}
		if info, err := f.Stat(); err == nil {
			all += info.Size()
		}
		f.Close()
	}
	return all
}

// openFile opens a file of a run directory: where the program was killed between the two
// steps of Save, under the name that it was about to lose.
func openFile(dir, name string) (*os.File, error) {
	if _, err := os.Stat(filepath.Join(dir, MetaFile+nextEnd)); err == nil {
		if f, err := openPlain(filepath.Join(dir, name+nextEnd)); err == nil {
			return f, nil
		}
	}
	return openPlain(filepath.Join(dir, name))
}

// openPlain opens what has an end: no device, no pipe.
func openPlain(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("is no plain file")
	}
	if err != nil {
		return nil, err
	}
	return os.Open(path)
}

// mostMeta is the longest run.json that is read, in bytes.
const mostMeta = 16 << 20

func readMetaFile(dir string) ([]byte, error) {
	f, err := openFile(dir, MetaFile)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return files.ReadFrom(f, mostMeta)
}

func readMeta(dir string) (*Meta, error) {
	path := filepath.Join(dir, MetaFile)
	data, err := readMetaFile(dir)
	if err != nil {
		switch info, e := os.Stat(dir); {
		case errors.Is(e, fs.ErrNotExist):
			return nil, fmt.Errorf("%s: no such directory; name one that run --out wrote", dir)
		case e != nil:
			return nil, fmt.Errorf("%s: %w; name a directory that run --out wrote", dir, files.Reason(e))
		case !info.IsDir():
			return nil, fmt.Errorf("%s: is a file; name the directory that run --out wrote", dir)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%s: %w; name a directory that run --out wrote", path, files.Reason(err))
		}
		return nil, fmt.Errorf("%s: not a run directory (no %s); name one that run --out wrote", dir, MetaFile)
	}
	meta, err := decodeMeta(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return meta, nil
}

// readDigested lets read read a file that run.json names, and checks all of it. Only plain
// names are followed.
func readDigested(dir string, d Digest, heard io.Writer, read func(io.Reader) error) error {
	name := filepath.Base(d.Name)
	path := filepath.Join(dir, name)
	f, err := openFile(dir, name)
	if err != nil {
		return fmt.Errorf("%s: %w; run the scenario again with --out", path, files.Reason(err))
	}
	defer f.Close()
	sum := sha256.New()
	from := bufio.NewReaderSize(io.TeeReader(f, io.MultiWriter(sum, heard)), 1<<18)
	failed := read(from)
	if _, err := io.Copy(io.Discard, from); err != nil {
		return fmt.Errorf("%s: %w", path, files.Reason(err))
	}
	if hex.EncodeToString(sum.Sum(nil)) != d.SHA256 {
		return fmt.Errorf("%s: changed or cut short since the run wrote it; run the scenario again with --out", path)
	}
	if failed != nil {
		return fmt.Errorf("%s: %w", path, failed)
	}
	return nil
}
