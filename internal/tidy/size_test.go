package tidy

import (
	"bytes"
	"go/ast"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Files stay short enough to read in one sitting.
func TestFileLength(t *testing.T) {
	for _, name := range tracked(t) {
		if !strings.HasSuffix(name, ".go") {
			continue
		}
		data, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			continue // deleted, and not yet committed as such
		}
		if n := bytes.Count(data, []byte("\n")); n >= maxFileLines {
			t.Errorf("%s has %d lines; files stay under %d", name, n, maxFileLines)
		}
	}
}

// Few functions are long, and they become fewer.
func TestFunctionLength(t *testing.T) {
	r := repository(t)
	var long []string
	for _, p := range r.pkgs {
		for _, f := range p.files {
			for _, d := range f.Decls {
				fn, ok := d.(*ast.FuncDecl)
				if !ok {
					continue
				}
				lines := r.fset.Position(fn.End()).Line - r.fset.Position(fn.Pos()).Line + 1
				if lines > maxFunctionLines {
					long = append(long, r.at(fn.Pos())+" "+fn.Name.Name)
				}
			}
		}
	}
	if len(long) != longFunctions {
		t.Errorf("%d functions have more than %d lines, want %d (fewer: lower longFunctions):\n%s",
			len(long), maxFunctionLines, longFunctions, strings.Join(long, "\n"))
	}
}
