package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

// mutant is one change: the text from start to end of a file is put between
// prefix and suffix, which ask whether the mutant is on, and within it swap is
// put in place of what stands at swapAt.
type mutant struct {
	id             int // from 1, the order within the package
	file           *file
	start, end     int // bytes of the file
	prefix, suffix string
	swapAt, swapTo int // bytes of the file, within start and end
	swap           string
	where          string // file and line
	what           string // what it changes
	named          bool   // from the table
}

func (m *mutant) String() string { return fmt.Sprintf("%s: %s", m.where, m.what) }

// generator walks the functions of a file.
type generator struct {
	p    *pkg
	f    *file
	list []*mutant
}

// generate returns the changes that the syntax of the package offers: operators
// exchanged, bounds moved by one, conditions and terms dropped, statements
// dropped.
func (p *pkg) generate() (list []*mutant) {
	for _, f := range p.files {
		g := &generator{p: p, f: f}
		for _, d := range f.syntax.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil && fn.Type.TypeParams == nil && fn.Name.Name != "String" && fn.Name.Name != "Error" {
				ast.Inspect(fn.Body, g.node)
			}
		}
		list = append(list, g.list...)
	}
	return list
}

// node makes the mutants of one node.
func (g *generator) node(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.BlockStmt:
		g.statements(n.List)
	case *ast.CaseClause:
		g.statements(n.Body)
	case *ast.IfStmt:
		if _, compares := n.Cond.(*ast.BinaryExpr); !compares && !g.constant(n.Cond) {
			g.add(n.Cond, "(", ") != hmOn(#N#)", "condition turned round: "+g.text(n.Cond))
		}
	case *ast.BinaryExpr:
		if !g.constant(n) {
			g.binary(n)
		}
	case *ast.CallExpr:
		g.extremes(n)
	}
	return true
}

// statements drops one statement after the other.
func (g *generator) statements(list []ast.Stmt) {
	for _, s := range list {
		switch s := s.(type) {
		case *ast.AssignStmt:
			if s.Tok == token.DEFINE {
				continue
			}
			if id, ok := s.Lhs[0].(*ast.Ident); ok && id.Name == "_" {
				continue
			}
		case *ast.ExprStmt:
			if call, ok := s.X.(*ast.CallExpr); ok && (g.text(call.Fun) == "panic" || strings.HasSuffix(g.text(call.Fun), ".Bug")) {
				continue
			}
		case *ast.BranchStmt:
			if s.Tok != token.CONTINUE && s.Tok != token.BREAK {
				continue
			}
		case *ast.IncDecStmt:
		default:
			continue
		}
		g.add(s, "if !hmOn(#N#) { ", " }", "dropped: "+g.text(s))
	}
}

// binary makes the mutants of an operator.
func (g *generator) binary(n *ast.BinaryExpr) {
	x, y, text := g.text(n.X), g.text(n.Y), g.text(n)
	simple := !strings.Contains(x+y, "\n") && !strings.Contains(x+y, "func(")
	switch n.Op {
	case token.EQL, token.NEQ:
		other := map[token.Token]string{token.EQL: "!=", token.NEQ: "=="}[n.Op]
		g.add(n, "((", ") != hmOn(#N#))", fmt.Sprintf("%s -> %s", text, other))
	case token.LSS, token.GTR:
		if simple {
			g.add(n, "(", fmt.Sprintf(" || hmOn(#N#) && (%s) == (%s))", x, y), fmt.Sprintf("%s -> %s=", text, n.Op))
		}
	case token.LEQ, token.GEQ:
		if simple {
			g.add(n, "(", fmt.Sprintf(" && !(hmOn(#N#) && (%s) == (%s)))", x, y), fmt.Sprintf("%s -> %c", text, n.Op.String()[0]))
		}
	case token.LAND, token.LOR:
		for _, side := range []ast.Expr{n.X, n.Y} {
			if g.constant(side) {
				continue
			}
			if n.Op == token.LAND {
				g.add(side, "(", " || hmOn(#N#))", fmt.Sprintf("%s without %s", text, g.text(side)))
			} else {
				g.add(side, "((", ") && !hmOn(#N#))", fmt.Sprintf("%s without %s", text, g.text(side)))
			}
		}
	case token.ADD, token.SUB:
		if !g.number(n) {
			return
		}
		name, what := map[token.Token]string{token.ADD: "hmAdd", token.SUB: "hmSub"}[n.Op], "the other sign"
		if g.constant(n.Y) {
			name, what = name+"Less", "without "+y
		}
		m := g.add(n, name+"(#N#, ", ")", text+": "+what)
		m.swapAt = g.p.fset.Position(n.OpPos).Offset
		m.swapTo, m.swap = m.swapAt+1, ","
	}
}

// extremes takes min for max and max for min.
func (g *generator) extremes(n *ast.CallExpr) {
	id, ok := n.Fun.(*ast.Ident)
	if !ok || len(n.Args) != 2 || g.constant(n) || !g.number(n) {
		return
	}
	if _, builtin := g.p.info.Uses[id].(*types.Builtin); !builtin || id.Name != "min" && id.Name != "max" {
		return
	}
	name := map[string]string{"min": "hmMin", "max": "hmMax"}[id.Name]
	m := g.add(n, "", "", g.text(n)+": the other extreme")
	m.swapAt, m.swapTo = m.start, g.p.fset.Position(n.Lparen).Offset+1
	m.swap = name + "(#N#, "
}

// add notes a mutant of a node; #N# in its texts becomes its number.
func (g *generator) add(n ast.Node, prefix, suffix, what string) *mutant {
	start, end := g.p.fset.Position(n.Pos()), g.p.fset.Position(n.End())
	m := &mutant{file: g.f, start: start.Offset, end: end.Offset, prefix: prefix, suffix: suffix,
		where: fmt.Sprintf("%s:%d", start.Filename, start.Line), what: strings.Join(strings.Fields(what), " ")}
	g.list = append(g.list, m)
	return m
}

// text is the source of a node.
func (g *generator) text(n ast.Node) string {
	return string(g.f.source[g.p.fset.Position(n.Pos()).Offset:g.p.fset.Position(n.End()).Offset])
}

// constant reports whether the compiler knows the value of e.
func (g *generator) constant(e ast.Expr) bool { return g.p.info.Types[e].Value != nil }

// number reports whether e is a number.
func (g *generator) number(e ast.Expr) bool {
	t := g.p.info.TypeOf(e)
	if t == nil {
		return false
	}
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&(types.IsInteger|types.IsFloat) != 0
}
