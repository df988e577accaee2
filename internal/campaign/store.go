package campaign

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hopscope/hopscope/internal/files"
	"github.com/hopscope/hopscope/internal/sweep"
)

// Files of a directory that a sweep has.
const (
	HeaderFile   = "sweep.json"
	ScenarioFile = "scenario.yaml"
	rowsFile     = "rows.jsonl" // a row per line, in the order in which runs ended
	shardsDir    = "shards"     // a directory for each shard, which has a rowsFile
)

// Format and version of HeaderFile.
const (
	formatName    = "hopscope sweep"
	formatVersion = 1
)

// Header says what a directory holds.
type Header struct {
	Format   string   `json:"format"` // "hopscope sweep"
	Version  int      `json:"version"`
	Program  string   `json:"program"`
	Scenario string   `json:"scenario"`
	Content  string   `json:"content"` // hash of the scenario without what is varied
	Vary     []string `json:"vary"`    // as given
	Samples  int      `json:"samples,omitempty"`
	Stacks   []string `json:"stacks,omitempty"`
	Seeds    int      `json:"seeds"`
	Runs     int      `json:"runs"`
}

func (c *Campaign) header() Header {
	h := Header{Format: formatName, Version: formatVersion, Program: c.Identity.Program, Scenario: c.Scenario,
		Content: c.Identity.Base, Vary: []string{}, Samples: c.Samples, Stacks: c.Stacks, Seeds: len(c.Seeds), Runs: c.Runs()}
	for _, a := range c.Axes {
		h.Vary = append(h.Vary, a.Key+"="+a.Given)
	}
	return h
}

// Store is a directory that holds what came of runs. One program at a time has it.
type Store struct {
	c     *Campaign
	dir   string // of all
	own   string // of the journal, which is that of a shard perhaps
	claim *files.Claim
	rows  []*sweep.Row // by run; nil: not made yet
	file  *os.File     // the journal; nil until something is added
	size  int64        // of it that is whole
	sync  time.Time    // when it last reached the disk
	after time.Duration
}

// Shard is one of several parts of a sweep; the zero value is all of it.
type Shard struct{ K, N int }

func (s Shard) String() string { return fmt.Sprintf("%d/%d", s.K, s.N) }

// dir is the name of a shard's directory.
func (s Shard) dir() string { return filepath.Join(shardsDir, fmt.Sprintf("%d-of-%d", s.K, s.N)) }

// syncEvery is how often what was added must have reached the disk: a loss of power costs the runs of so long, the
// end of the program none.
const syncEvery = time.Second

// OpenStore claims dir, which is made if need be, and reads what is there, by shards and by the sweep as a whole. It
// refuses a directory that holds anything else, or rows that this sweep does not have.
func (c *Campaign) OpenStore(dir string, shard Shard) (*Store, error) {
	s := &Store{c: c, dir: dir, own: dir, rows: make([]*sweep.Row, c.Runs()), after: syncEvery}
	if shard.N > 0 {
		s.own = filepath.Join(dir, shard.dir())
	}
	if err := c.CheckDir(dir); err != nil {
		return nil, err
	}
	var err error
	s.claim, err = files.ClaimDir(s.own)
	switch {
	case errors.Is(err, files.ErrClaimed):
		return nil, fmt.Errorf("%s: another sweep is writing there; wait for it, or name a new directory", s.own)
	case err != nil:
		return nil, fmt.Errorf("cannot use %s for a sweep: %w", s.own, err)
	}
	if err := s.prepare(shard); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

func (s *Store) prepare(shard Shard) error {
	if err := files.CheckDir(s.own); err != nil {
		return fmt.Errorf("cannot write to %s: %w", s.own, err)
	}
	if err := s.take(filepath.Join(s.own, rowsFile), true); err != nil {
		return err
	}
	if shard.N == 0 {
		return s.Merge(s.dir)
	}
	return nil
}

// Close gives the directory up.
func (s *Store) Close() {
	if s.file != nil {
		_ = s.file.Sync()
		_ = s.file.Close()
	}
	s.claim.Release()
}

// CheckDir refuses a directory that holds anything but a sweep like this one, or nothing.
func (c *Campaign) CheckDir(dir string) error {
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := files.CheckDir(dir); err != nil {
			return fmt.Errorf("%s cannot be made: %w", dir, err)
		}
		return nil
	case err != nil:
		return fmt.Errorf("cannot use %s for a sweep: %w", dir, files.Reason(err))
	}
	old, err := readHeader(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return !ours(e.Name()) }) {
			return fmt.Errorf("%s is neither empty nor a sweep; name another directory", dir)
		}
		return nil
	case err != nil:
		return err
	}
	return c.checkHeader(dir, old)
}

// ours reports whether a sweep that has not begun may have left an entry in its directory.
func ours(name string) bool {
	return name == shardsDir || files.IsTemp(name, HeaderFile) || files.IsTemp(name, ScenarioFile) || name == ScenarioFile
}

func readHeader(dir string) (h Header, err error) {
	data, err := os.ReadFile(filepath.Join(dir, HeaderFile))
	if err != nil {
		return h, err
	}
	if json.Unmarshal(data, &h) != nil || h.Format != formatName {
		return h, fmt.Errorf("%s: is no header of a sweep; name another directory", filepath.Join(dir, HeaderFile))
	}
	if h.Version != formatVersion {
		return h, fmt.Errorf("%s: has version %d, and this program reads version %d; name another directory",
			filepath.Join(dir, HeaderFile), h.Version, formatVersion)
	}
	return h, nil
}

// checkHeader says in what a sweep differs from the one that a directory holds, so that their runs would not go
// together. Other values of the same keys, and more seeds, do.
func (c *Campaign) checkHeader(dir string, old Header) error {
	now := c.header()
	const rename = "; name another directory with --out"
	switch {
	case old.Scenario != now.Scenario:
		return fmt.Errorf("%s holds a sweep of %s, and this is one of %s%s", dir, old.Scenario, now.Scenario, rename)
	case keysOf(old) != keysOf(now):
		return fmt.Errorf("%s holds another sweep, of %s; this is one of %s%s", dir, keysOf(old), keysOf(now), rename)
	case old.Content != now.Content:
		return fmt.Errorf("%s holds runs of %s as it was: the scenario, or what is set in it, has changed since%s, "+
			"or take the change back", dir, old.Scenario, rename)
	case old.Program != now.Program:
		return fmt.Errorf("%s holds runs of hopscope %s, and this is %s: runs of two versions do not go together%s",
			dir, old.Program, now.Program, rename)
	}
	return nil
}

// keysOf lists what a sweep varies.
func keysOf(h Header) string {
	var keys []string
	if len(h.Stacks) > 0 {
		keys = append(keys, "stack")
	}
	for _, v := range h.Vary {
		key, _, _ := strings.Cut(v, "=")
		keys = append(keys, key)
	}
	if len(keys) == 0 {
		keys = []string{"seeds"}
	}
	if h.Samples > 0 {
		return fmt.Sprintf("%d samples of %s", h.Samples, strings.Join(keys, " and "))
	}
	return strings.Join(keys, " and ")
}

// Begin writes what the directory holds, before the first run.
func (s *Store) Begin() error {
	set := files.NewSet(s.dir)
	defer set.Discard()
	head, err := json.MarshalIndent(s.c.header(), "", " ")
	if err != nil {
		return err
	}
	head = append(head, '\n')
	for _, f := range []struct {
		name string
		data []byte
	}{{ScenarioFile, s.c.Source}, {HeaderFile, head}} {
		if old, err := os.ReadFile(filepath.Join(s.dir, f.name)); err == nil && bytes.Equal(old, f.data) {
			continue // another shard has just written the same
		}
		if err := set.Put(f.name, f.data); err != nil {
			return err
		}
	}
	return set.Commit()
}

// Merge takes in the rows that shards, and a sweep as a whole, left in a directory.
func (s *Store) Merge(dir string) error {
	if dir != s.dir {
		old, err := readHeader(dir)
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s holds no sweep: there is no %s", dir, HeaderFile)
		}
		if err != nil {
			return err
		}
		if err := s.c.checkHeader(dir, old); err != nil {
			return err
		}
		if err := s.take(filepath.Join(dir, rowsFile), false); err != nil {
			return err
		}
	}
	shards, err := filepath.Glob(filepath.Join(dir, shardsDir, "*-of-*", rowsFile))
	if err != nil {
		return err
	}
	for _, file := range shards {
		if err := s.take(file, false); err != nil {
			return err
		}
	}
	return nil
}

// take takes in the rows of a journal. Of the store's own what was half written goes.
func (s *Store) take(file string, own bool) error {
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot read %s: %w", file, files.Reason(err))
	}
	rows, clean := sweep.ReadLines(data)
	foreign := 0
	for k := range rows {
		r := &rows[k]
		i, known := s.c.ids[r.ID]
		switch {
		case !known:
			foreign++
		case s.rows[i] != nil && !sweep.Same(s.rows[i], r):
			return fmt.Errorf("%s: %s came out differently than before: a run depends on nothing but the scenario, its "+
				"seed and the program, so that one of the two was damaged or made by another program", file, s.c.words(i))
		default:
			s.rows[i] = r
		}
	}
	if foreign > 0 {
		return fmt.Errorf("%s: holds %s that this sweep does not have, of other values or seeds, or of files "+
			"that have changed; "+
			"give all values, or name another directory with --out", file, many(foreign, "run"))
	}
	if own && !clean {
		return s.rewrite(rows)
	}
	if own {
		s.size = int64(len(data))
	}
	return nil
}

// words says which run it is.
func (c *Campaign) words(i int) string {
	point, seed := c.RunAt(i)
	pt := c.Point(point)
	list := c.Set(pt)
	if pt.Stack != "" {
		list = append([]string{"stack=" + pt.Stack}, list...)
	}
	return strings.Join(append(list, fmt.Sprintf("seed=%d", seed)), ", ")
}

// rewrite puts a journal of the given rows in place of the one that is there.
func (s *Store) rewrite(rows []sweep.Row) error {
	var b bytes.Buffer
	for i := range rows {
		line, err := rows[i].Line()
		if err != nil {
			return err
		}
		b.Write(line)
	}
	s.size = int64(b.Len())
	return files.Put(filepath.Join(s.own, rowsFile), b.Bytes())
}

// Rows are those that there are, by run.
func (s *Store) Rows() []*sweep.Row { return s.rows }

// Missing lists the runs of a shard, or all, that are not made yet.
func (s *Store) Missing(shard Shard) (out []int) {
	if shard.N == 0 {
		shard.N = 1
	}
	for _, i := range s.c.Shard(shard.K, shard.N) {
		if s.rows[i] == nil {
			out = append(out, i)
		}
	}
	return out
}

// Add keeps the row of run i. What cannot be written, as on a full disk, leaves the journal as it was.
func (s *Store) Add(i int, r *sweep.Row) error {
	path := filepath.Join(s.own, rowsFile)
	line, err := r.Line()
	if err != nil {
		return err
	}
	if s.file == nil {
		if s.file, err = os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644); err != nil {
			return fmt.Errorf("cannot write %s: %w", path, files.Reason(err))
		}
	}
	if _, err := s.file.Write(line); err != nil {
		_ = s.file.Truncate(s.size)
		return fmt.Errorf("cannot write %s: %w", path, files.Reason(err))
	}
	if now := time.Now(); now.Sub(s.sync) >= s.after {
		if err := s.file.Sync(); err != nil {
			return fmt.Errorf("cannot write %s: %w", path, files.Reason(err))
		}
		s.sync = now
	}
	s.size += int64(len(line))
	s.rows[i] = r
	return nil
}

// Finish puts the rows of a shard, or all, into the order of runs, so that the file holds the same bytes whoever made
// them.
func (s *Store) Finish(shard Shard) error {
	if s.file != nil {
		_ = s.file.Close()
		s.file = nil
	}
	if shard.N == 0 {
		shard.N = 1
	}
	var rows []sweep.Row
	for _, i := range s.c.Shard(shard.K, shard.N) {
		if s.rows[i] != nil {
			rows = append(rows, *s.rows[i])
		}
	}
	return s.rewrite(rows)
}

// many writes a count with its noun.
func many(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
