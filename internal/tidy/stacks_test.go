package tidy

import (
	"go/ast"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// What knows no devices reaches none through others either: a report can be made again from a
// saved run directory, by a program that has no simulator.
func TestReachesNoDevices(t *testing.T) {
	byPath := map[string]*pkg{}
	for _, p := range repository(t).pkgs {
		byPath[p.path] = p
	}
	for _, from := range reachNone {
		seen := map[string]bool{}
		var visit func(path string, way []string)
		visit = func(path string, way []string) {
			if seen[path] || byPath[path] == nil {
				return
			}
			seen[path] = true
			way = append(slices.Clip(way), path)
			if slices.Contains(devices, path) {
				t.Errorf("%s reaches a device: %s", from, strings.Join(way, " imports "))
				return
			}
			for _, imported := range byPath[path].imports {
				if below, own := strings.CutPrefix(imported, module); own {
					visit(below, way)
				}
			}
		}
		visit(from, nil)
	}
}

// A new stack adds rows to the catalogue, not branches above it: the conditions there that
// read a field of one stack or compare with the name of a stack, service or link layer become
// fewer.
func TestBranchesOnStacks(t *testing.T) {
	r := repository(t)
	var found []string
	for _, p := range r.pkgs {
		if !slices.Contains(stackless, p.path) {
			continue
		}
		for _, f := range p.files {
			ast.Inspect(f, func(n ast.Node) bool {
				for _, c := range conditions(n) {
					if readsStack(p, c) {
						found = append(found, r.at(c.Pos()))
					}
				}
				return true
			})
		}
	}
	if len(found) != stackBranches {
		t.Errorf("%d conditions read stacks, want %d (fewer: lower stackBranches):\n%s", len(found), stackBranches, strings.Join(found, "\n"))
	}
}

// conditions lists the conditions of a statement, and what a switch compares.
func conditions(n ast.Node) (out []ast.Expr) {
	switch n := n.(type) {
	case *ast.IfStmt:
		return []ast.Expr{n.Cond}
	case *ast.ForStmt:
		if n.Cond != nil {
			return []ast.Expr{n.Cond}
		}
	case *ast.SwitchStmt:
		if n.Tag != nil {
			return []ast.Expr{n.Tag}
		}
	case *ast.CaseClause:
		return n.List
	case *ast.BinaryExpr:
		if n.Op == token.LAND || n.Op == token.LOR {
			return nil // of a statement, or of a value that is returned
		}
	case *ast.ReturnStmt:
		for _, e := range n.Results {
			if b, ok := e.(*ast.BinaryExpr); ok && (b.Op == token.LAND || b.Op == token.LOR || b.Op == token.EQL || b.Op == token.NEQ) {
				out = append(out, e)
			}
		}
	}
	return out
}

// readsStack reports whether a condition reads what only one stack has, or names one.
func readsStack(p *pkg, e ast.Expr) (found bool) {
	ast.Inspect(e, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if v, ok := p.info.Uses[n.Sel].(*types.Var); ok && v.IsField() && slices.Contains(stackFields, v.Name()) {
				found = true
			}
			if c, ok := p.info.Uses[n.Sel].(*types.Const); ok && c.Pkg() != nil && strings.HasPrefix(c.Pkg().Path(), module) {
				if named, ok := c.Type().(*types.Named); ok && slices.Contains(stackTypes, named.Obj().Name()) {
					found = true
				}
			}
		case *ast.BasicLit:
			if n.Kind == token.STRING && slices.Contains(stackNames, strings.Trim(n.Value, `"`)) {
				found = true
			}
		}
		return !found
	})
	return found
}

// Lines fit a screen; those that do not become fewer.
func TestLineLength(t *testing.T) {
	long := 0
	for _, name := range tracked(t) {
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			continue
		}
		data, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			continue // deleted, and not yet committed as such
		}
		for line := range strings.SplitSeq(string(data), "\n") {
			if utf8.RuneCountInString(line) > maxColumns {
				long++
			}
		}
	}
	if long > longLines {
		t.Errorf("%d lines outside tests have more than %d characters; there were %d, which may only fall", long, maxColumns, longLines)
	}
}
