package tidy

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
	"testing"
)

// The kinds of endpoints of a card, each with the fields of a slot and of its description that it alone has.
// A new kind has a row here.
var endpoints = map[string][]string{
	"verbs":    {"qp"},
	"sockets":  {"stream", "Stream"},
	"offloads": {"offloaded", "Offload"},
}

// Nothing in internal/nic asks which endpoint it serves but endpoint.go, which makes them: no condition looks
// whether a slot is of a kind, and no other type implements the contract.
func TestEndpoints(t *testing.T) {
	tree := repository(t)
	for _, p := range tree.pkgs {
		if p.path != "internal/nic" {
			continue
		}
		contract, ok := p.types.Scope().Lookup("endpoint").Type().Underlying().(*types.Interface)
		if !ok {
			t.Fatal("internal/nic has no interface endpoint")
		}
		for _, name := range p.types.Scope().Names() {
			o, isType := p.types.Scope().Lookup(name).(*types.TypeName)
			if !isType || name == "endpoint" || !types.Implements(o.Type(), contract) {
				continue
			}
			if _, listed := endpoints[name]; !listed {
				t.Errorf("internal/nic: %s is an endpoint that is not listed here", name)
			}
		}
		for name := range endpoints {
			if o := p.types.Scope().Lookup(name); o == nil || !types.Implements(o.Type(), contract) {
				t.Errorf("internal/nic has no endpoint %s", name)
			}
		}
		for _, f := range p.files {
			if strings.HasSuffix(tree.fset.Position(f.Pos()).Filename, "endpoint.go") {
				continue
			}
			ast.Inspect(f, func(n ast.Node) bool {
				if c, ok := n.(*ast.BinaryExpr); ok && (c.Op == token.EQL || c.Op == token.NEQ) && asksKind(p, c) {
					t.Errorf("%s asks which kind of endpoint a slot is of; give the contract a method", tree.at(c.Pos()))
				}
				return true
			})
		}
	}
}

// asksKind reports whether a comparison is one of a field that only one kind has with nil, or of a kind.
func asksKind(p *pkg, c *ast.BinaryExpr) bool {
	for _, e := range []ast.Expr{c.X, c.Y} {
		if s, ok := e.(*ast.SelectorExpr); ok {
			v, isField := p.info.Uses[s.Sel].(*types.Var)
			if !isField || !v.IsField() {
				continue
			}
			if _, pointer := v.Type().(*types.Pointer); !pointer {
				continue
			}
			for _, fields := range endpoints {
				if slices.Contains(fields, v.Name()) {
					return true
				}
			}
		}
		if id, ok := e.(*ast.Ident); ok && (id.Name == "verbsEnd" || id.Name == "socketsEnd" || id.Name == "offloadsEnd") {
			return true
		}
	}
	return false
}
