package report

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

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
}

// Digest is a file of the directory and the SHA-256 of its bytes.
type Digest struct {
	Name   string `json:"name"`
	SHA256 string `json:"sha256"`
}

// CheckDir reports why dir cannot become a run directory: it exists and is
// something else. A run directory may be written again.
func CheckDir(dir string) error {
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist) || err == nil && len(entries) == 0:
		return nil
	case err != nil:
		return fmt.Errorf("cannot use %s as a run directory: %w", dir, reason(err))
	}
	if _, err := readMeta(dir); err != nil {
		return fmt.Errorf("%s is neither empty nor a run directory; name a new one", dir)
	}
	return nil
}

// Save writes a run directory: the result, the scenario's source, and meta,
// whose Format, Version and Files it fills in.
func Save(dir string, r *record.Run, source []byte, meta Meta) error {
	if err := CheckDir(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("cannot make %s: %w", dir, reason(err))
	}
	result, err := JSON(r)
	if err != nil {
		return err
	}
	files := []file{{ResultFile, result}, {ScenarioFile, source}}
	meta.Format, meta.Version, meta.Files = runFormat, Version, nil
	for _, f := range files {
		meta.Files = append(meta.Files, Digest{f.name, digest(f.data)})
	}
	described, err := json.MarshalIndent(meta, "", " ")
	if err != nil {
		return fmt.Errorf("encode %s: %w", MetaFile, err)
	}
	return writeSet(dir, append(files, file{MetaFile, append(described, '\n')}))
}

// Load reads a run directory back. Directories of other programs, missing
// files and files changed or cut short since they were written are errors of
// one line.
func Load(dir string) (*record.Run, *Meta, error) {
	meta, err := readMeta(dir)
	if err != nil {
		return nil, nil, err
	}
	var result []byte
	for _, d := range meta.Files {
		data, err := readDigested(dir, d)
		if err != nil {
			return nil, nil, err
		}
		if d.Name == ResultFile {
			result = data
		}
	}
	r, err := ParseJSON(result)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", filepath.Join(dir, ResultFile), err)
	}
	return r, meta, nil
}

func readMeta(dir string) (*Meta, error) {
	path := filepath.Join(dir, MetaFile)
	data, err := os.ReadFile(path)
	if err != nil {
		if info, e := os.Stat(dir); e != nil || !info.IsDir() {
			return nil, fmt.Errorf("%s: no such directory; name one that run --out wrote", dir)
		}
		return nil, fmt.Errorf("%s: not a run directory (no %s); name one that run --out wrote", dir, MetaFile)
	}
	var meta Meta
	if err := json.Unmarshal(data, &meta); err != nil || meta.Format != runFormat {
		return nil, fmt.Errorf("%s: not written by hopscope, or cut short; run the scenario again with --out", path)
	}
	if meta.Version != Version {
		return nil, fmt.Errorf("%s: run directory of version %d; this program reads version %d", path, meta.Version, Version)
	}
	return &meta, nil
}

// readDigested reads a file that run.json names. Only plain names are
// followed.
func readDigested(dir string, d Digest) ([]byte, error) {
	path := filepath.Join(dir, filepath.Base(d.Name))
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w; run the scenario again with --out", path, reason(err))
	}
	if digest(data) != d.SHA256 {
		return nil, fmt.Errorf("%s: changed or cut short since the run wrote it; run the scenario again with --out", path)
	}
	return data, nil
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
