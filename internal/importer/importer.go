// Package importer is what an importer has to say of itself: which files of which program it reads, and
// how. It makes a scenario's tree of them, whose values point back at the files, so that the scenario's
// own reader judges what they say. Each importer is a package below this one with a row in package importers.
package importer

import (
	"bytes"
	"errors"
	"io/fs"

	"github.com/hopscope/hopscope/internal/files"
	"github.com/hopscope/hopscope/internal/foreign"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/topology"
	"github.com/hopscope/hopscope/internal/tree"
)

// Importer declares how the files of a program are read.
type Importer struct {
	Flags []Flag // of the command line, which name its files; all must be given
	Read  func(Request) (*Scenario, *tree.Error)
}

// Flag names a file on the command line.
type Flag struct {
	Name  string // of the flag: ns3
	Value string // what stands for its value: CONFIG
	Text  string // help, with the value in backquotes
	What  string // what the file is, for one that is missing beside the others
}

// Request is what is to be read.
type Request struct {
	Files    []string // in the order of the flags
	Set      []string // arguments of --set
	ReadFile func(path string) ([]byte, error)
}

// Scenario is what was made of the files.
type Scenario struct {
	Root     *tree.Node
	File     string // the file that stands for all: errors without a place name it
	Set      []string
	Warnings []string
	Notes    []record.Note
}

// MaxFile bounds a file that is read in bytes: a million flows have some 40.
const MaxFile = 64 << 20

// ReadFile reads a file of at most MaxFile bytes.
func ReadFile(path string) ([]byte, error) { return files.Read(path, MaxFile) }

// Reader reads foreign files and keeps the first error. After it every reading function returns what does
// no harm, so that callers read top to bottom.
type Reader struct {
	Err *tree.Error
	Scenario
	open func(path string) ([]byte, error)
}

// NewReader begins to read what is asked for.
func NewReader(q Request) *Reader { return &Reader{open: q.ReadFile} }

// Fail keeps the first error.
func (r *Reader) Fail(at tree.Pos, format string, args ...any) {
	if r.Err == nil {
		r.Err = at.Errorf(format, args...)
	}
}

// Keep keeps an error if it is one and the first.
func (r *Reader) Keep(bad *tree.Error) {
	if r.Err == nil && bad != nil {
		r.Err = bad
	}
}

// Warn adds a warning to the scenario.
func (r *Reader) Warn(text string) { r.Warnings = append(r.Warnings, text) }

// Number reads a whole number within a range.
func (r *Reader) Number(w tree.Word, what string, lo, hi int64) int64 {
	if r.Err != nil {
		return lo
	}
	v, bad := w.Number(what, lo, hi)
	r.Keep(bad)
	return v
}

// Decimal reads a number from 0 to hi.
func (r *Reader) Decimal(w tree.Word, what string, hi float64) float64 {
	if r.Err != nil {
		return 0
	}
	v, bad := w.Decimal(what, hi)
	r.Keep(bad)
	return v
}

// Load reads a file that the command line names. what says what it should be, and kinds how
// such files are recognised.
func (r *Reader) Load(path, what string, kinds ...foreign.Kind) []byte {
	if r.Err != nil {
		return nil
	}
	src, err := r.open(path)
	if err != nil {
		r.Fail(tree.Pos{File: path}, "cannot be read: %v; name %s", Cause(err), what)
	}
	r.refuse(path, src, what, kinds)
	return src
}

// Try reads a file that another one names; err says that it cannot be read.
func (r *Reader) Try(path, what string, kinds ...foreign.Kind) (src []byte, err error) {
	if src, err = r.open(path); err == nil {
		r.refuse(path, src, what, kinds)
	}
	return src, err
}

// refuse refuses a file that is something else.
func (r *Reader) refuse(path string, src []byte, what string, kinds []foreign.Kind) {
	if other := foreign.Instead(src, what, kinds...); other != "" {
		r.Fail(tree.Pos{File: path}, "%s", other)
	}
}

// Cause is an error without the name of the file.
func Cause(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// Rows reads a file of rows of words, one at a time, for there may be millions. Blank rows are
// skipped.
type Rows struct {
	File string
	Last int // the line of the row that was taken last
	r    *Reader
	rest []byte // what was not read yet
	line int    // of what was read last
}

// Rows reads a text.
func (r *Reader) Rows(file string, src []byte) *Rows { return &Rows{r: r, File: file, rest: src} }

// maxRowWords bounds the words of a row: the longest lists all switches of a topology.
const maxRowWords = topology.MaxNodes

// Peek is the next row that is not empty, whose words nobody has taken; ok is false at the
// end of the file.
func (f *Rows) Peek() (words []tree.Word, ok bool) {
	for len(f.rest) > 0 && f.r.Err == nil {
		text, rest, _ := bytes.Cut(f.rest, []byte("\n"))
		if words = tree.Words(f.File, f.line+1, string(text), maxRowWords); len(words) > maxRowWords {
			f.r.Fail(words[maxRowWords].Pos, "more than %d words in a line; no row has so many", maxRowWords)
			return nil, false
		}
		if len(words) > 0 {
			return words, true
		}
		f.rest, f.line = rest, f.line+1
	}
	return nil, false
}

// Take is Peek and goes on.
func (f *Rows) Take() (words []tree.Word, ok bool) {
	if words, ok = f.Peek(); ok {
		_, f.rest, _ = bytes.Cut(f.rest, []byte("\n"))
		f.line++
		f.Last = f.line
	}
	return words, ok
}

// Row takes the next row, which must have one of the given numbers of words.
func (f *Rows) Row(what string, counts ...int) []tree.Word {
	if f.r.Err != nil {
		return nil
	}
	words, ok := f.Take()
	if !ok {
		f.r.Fail(f.End(), "the file ends where %s should stand; add it, or lower the count above", what)
		return nil
	}
	for _, n := range counts {
		if len(words) == n {
			return words
		}
	}
	f.r.Fail(words[0].Pos, "%d words where %s should stand; give %d", len(words), what, counts[0])
	return nil
}

// End is the place just after the row that was taken last.
func (f *Rows) End() tree.Pos { return tree.Pos{File: f.File, Line: f.Last + 1, Col: 1} }
