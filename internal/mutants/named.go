package main

import (
	"bytes"
	"fmt"
	"go/parser"
	"path/filepath"
	"slices"
	"strings"
)

// module is the import path of the repository.
const module = "github.com/hopscope/hopscope/"

// change is a mutant that somebody thought of, most because no test noticed it
// then. In file, below the repository, before stands once and is an expression or a
// statement; after is what replaces it, nothing for a statement that is dropped.
type change struct{ file, before, after string }

// fromTable returns the table's mutants of the package.
func (p *pkg) fromTable() (list []*mutant, err error) {
	for _, c := range table {
		if module+filepath.ToSlash(filepath.Dir(c.file)) != p.path {
			continue
		}
		i := slices.IndexFunc(p.files, func(f *file) bool { return f.name == filepath.Base(c.file) })
		if i < 0 {
			return nil, fmt.Errorf("the table names %s, which does not exist", c.file)
		}
		m, err := p.named(p.files[i], c)
		if err != nil {
			return nil, err
		}
		list = append(list, m)
	}
	return list, nil
}

// named is the mutant of an entry of the table.
func (p *pkg) named(f *file, c change) (*mutant, error) {
	if n := bytes.Count(f.source, []byte(c.before)); n != 1 {
		return nil, fmt.Errorf("%s has %q %d times; the table wants it once: make the entry follow the code", c.file, c.before, n)
	}
	at := bytes.Index(f.source, []byte(c.before))
	m := &mutant{file: f, start: at, end: at + len(c.before), named: true,
		where: fmt.Sprintf("%s:%d", f.name, 1+bytes.Count(f.source[:at], []byte("\n"))),
		what:  strings.Join(strings.Fields(c.before+" -> "+c.after), " ")}
	_, err := parser.ParseExpr(c.before)
	switch {
	case c.after == "":
		m.prefix, m.suffix, m.what = "if !hmOn(#N#) { ", " }", "dropped: "+c.before
	case err == nil:
		m.prefix, m.suffix = "hmPick(#N#, ("+c.after+"), (", "))"
	default:
		m.prefix, m.suffix = "if hmOn(#N#) { "+c.after+" } else { ", " }"
	}
	return m, nil
}
