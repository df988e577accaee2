package tidy

import (
	"go/ast"
	"go/token"
	"go/types"
	"testing"
)

// Below the level of run nothing starts a goroutine or iterates over a map,
// whose order differs from run to run; transports and congestion control do not
// even know channels.
func TestDeterminism(t *testing.T) {
	r := repository(t)
	for _, p := range r.pkgs {
		if rules[p.path].level >= levelRun || mayRange[p.path] {
			continue
		}
		for _, f := range p.files {
			ast.Inspect(f, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.GoStmt:
					t.Errorf("%s: goroutine below the level of run", r.at(n.Pos()))
				case *ast.SelectStmt, *ast.ChanType, *ast.SendStmt:
					t.Errorf("%s: channel below the level of run", r.at(n.Pos()))
				case *ast.RangeStmt:
					if _, ok := p.info.TypeOf(n.X).Underlying().(*types.Map); ok {
						t.Errorf("%s: iteration over a map, whose order differs from run to run; range over a sorted slice", r.at(n.Pos()))
					}
				case *ast.CallExpr:
					if mapIterator(p.info, n) {
						t.Errorf("%s: iteration over a map, whose order differs from run to run", r.at(n.Pos()))
					}
				}
				return true
			})
		}
	}
}

// mapIterator reports a call of maps.Keys, maps.Values or maps.All.
func mapIterator(info *types.Info, call *ast.CallExpr) bool {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	o := info.Uses[sel.Sel]
	if o == nil || o.Pkg() == nil || o.Pkg().Path() != "maps" {
		return false
	}
	return o.Name() == "Keys" || o.Name() == "Values" || o.Name() == "All"
}

// No package-level variable changes once it is initialised, so that many runs
// can share a process. A variable may be an error, a table (array, slice, map
// or struct of values), an embedded file or a compiled expression, and nothing
// may assign to it, to a part of it, or take its address.
func TestNoMutableState(t *testing.T) {
	r := repository(t)
	for _, p := range r.pkgs {
		scope := p.types.Scope()
		for _, name := range scope.Names() {
			v, ok := scope.Lookup(name).(*types.Var)
			if !ok || mutable[p.path+"."+name] != "" {
				continue
			}
			if !constantLike(v.Type(), 0) {
				t.Errorf("%s: package-level variable %s of type %s can change; pass it, or make it a function", r.at(v.Pos()), name, v.Type())
			}
		}
		for _, f := range p.files {
			ast.Inspect(f, func(n ast.Node) bool {
				for _, e := range written(p.info, n) {
					if v := packageVar(p.info, e); v != nil && mutable[pathOf(v)] == "" {
						t.Errorf("%s: %s is a package-level variable and must not change", r.at(e.Pos()), v.Name())
					}
				}
				return true
			})
		}
	}
}

// constantLike reports whether a type is that of a table or of a value that
// offers no way to change it.
func constantLike(t types.Type, depth int) bool {
	if named, ok := t.(*types.Named); ok {
		o := named.Obj()
		if o.Pkg() == nil {
			return o.Name() == "error"
		}
		if o.Pkg().Path() == "embed" && o.Name() == "FS" {
			return true
		}
		if o.Pkg().Path() == "sync" || o.Pkg().Path() == "sync/atomic" {
			return false
		}
	}
	if depth > 0 {
		if _, ok := t.Underlying().(*types.Basic); ok {
			return true // an element: it changes only through the table
		}
	}
	switch u := t.Underlying().(type) {
	case *types.Array:
		return constantLike(u.Elem(), depth+1)
	case *types.Slice:
		return constantLike(u.Elem(), depth+1)
	case *types.Map:
		return constantLike(u.Key(), depth+1) && constantLike(u.Elem(), depth+1)
	case *types.Struct:
		for i := range u.NumFields() {
			if !constantLike(u.Field(i).Type(), depth+1) {
				return false
			}
		}
		return true
	case *types.Pointer:
		return u.String() == "*regexp.Regexp"
	case *types.Signature, *types.Interface:
		return depth > 0 // a column of functions or types
	}
	return false
}

// written lists the expressions that a statement assigns to or whose address
// it takes. Map and slice arguments of append, clear, copy and delete count.
func written(info *types.Info, n ast.Node) []ast.Expr {
	switch n := n.(type) {
	case *ast.AssignStmt:
		if n.Tok != token.DEFINE {
			return n.Lhs
		}
	case *ast.IncDecStmt:
		return []ast.Expr{n.X}
	case *ast.RangeStmt:
		if n.Tok == token.ASSIGN {
			return []ast.Expr{n.Key, n.Value}
		}
	case *ast.UnaryExpr:
		if n.Op == token.AND {
			return []ast.Expr{n.X}
		}
	case *ast.CallExpr:
		if id, ok := n.Fun.(*ast.Ident); ok {
			if b, ok := info.Uses[id].(*types.Builtin); ok {
				switch b.Name() {
				case "append", "clear", "copy", "delete":
					return n.Args[:1]
				}
			}
		}
	}
	return nil
}

// packageVar returns the package-level variable that e is or is a part of.
func packageVar(info *types.Info, e ast.Expr) *types.Var {
	for {
		switch x := e.(type) {
		case *ast.ParenExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.SliceExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		case *ast.SelectorExpr:
			if v, ok := info.Uses[x.Sel].(*types.Var); ok && !v.IsField() {
				return ofPackage(v)
			}
			e = x.X
		case *ast.Ident:
			v, _ := info.Uses[x].(*types.Var)
			return ofPackage(v)
		default:
			return nil
		}
	}
}

func ofPackage(v *types.Var) *types.Var {
	if v == nil || v.Pkg() == nil || v.Parent() != v.Pkg().Scope() {
		return nil
	}
	return v
}

func pathOf(v *types.Var) string {
	if len(v.Pkg().Path()) <= len(module) {
		return v.Name()
	}
	return v.Pkg().Path()[len(module):] + "." + v.Name()
}
