package tidy

import (
	"slices"
	"strings"
	"testing"
)

// within reports whether path is prefix or lies below it.
func within(path, prefix string) bool {
	return path == prefix || strings.HasPrefix(path, prefix+"/")
}

// Imports run downwards only, by the table.
func TestImportLevels(t *testing.T) {
	for _, p := range repository(t).pkgs {
		r, ok := rules[p.path]
		if !ok {
			t.Errorf("%s has no row in the table of packages; give it its level", p.path)
			continue
		}
		for _, imported := range p.imports {
			if !strings.HasPrefix(imported+"/", module) {
				continue
			}
			below := ownPath(imported)
			if to := rules[below]; to.level >= r.level {
				t.Errorf("%s (level %d) imports %s (level %d); imports run downwards only", p.path, r.level, below, to.level)
			}
			if slices.Contains(never[p.path], below) {
				t.Errorf("%s imports %s, which it must not know", p.path, below)
			}
		}
	}
}

// The table names no package that is gone.
func TestTableIsCurrent(t *testing.T) {
	var have []string
	for _, p := range repository(t).pkgs {
		have = append(have, p.path)
	}
	for name := range rules {
		if !slices.Contains(have, name) {
			t.Errorf("the table of packages names %s, which does not exist", name)
		}
	}
	for name, list := range never {
		for _, n := range append(list, name) {
			if _, ok := rules[n]; !ok {
				t.Errorf("never names %s, which the table of packages lacks", n)
			}
		}
	}
}

// Third-party modules, clocks, sockets, locks and the operating system come in
// where the table lets them.
func TestForeignImports(t *testing.T) {
	for _, p := range repository(t).pkgs {
		r := rules[p.path]
		for _, imported := range p.imports {
			first, _, _ := strings.Cut(imported, "/")
			switch {
			case strings.HasPrefix(imported+"/", module):
			case strings.Contains(first, "."):
				if !slices.ContainsFunc(r.thirdParty, func(m string) bool { return within(imported, m) }) {
					t.Errorf("%s imports %s, which the table does not give it", p.path, imported)
				}
			case slices.ContainsFunc(restricted, func(s string) bool { return within(imported, s) }):
				if !slices.Contains(r.std, imported) {
					t.Errorf("%s imports %s; a run must depend on its scenario alone", p.path, imported)
				}
			}
		}
	}
}
