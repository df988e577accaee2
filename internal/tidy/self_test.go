package tidy

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"testing"
)

// check parses and type-checks one file without imports.
func check(t *testing.T, src string) (*ast.File, *types.Info, *types.Package) {
	t.Helper()
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "x.go", "package x\n"+src, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{}}
	p, err := new(types.Config).Check("x", fset, []*ast.File{f}, info)
	if err != nil {
		t.Fatal(err)
	}
	return f, info, p
}

// The rule on package-level variables tells tables from state.
func TestConstantLike(t *testing.T) {
	for _, c := range []struct {
		decl string
		want bool
	}{
		{"var v int", false},
		{"var v = true", false},
		{"var v *int", false},
		{"var v func()", false},
		{"var v chan int", false},
		{"var v []*int", false},
		{"var v any", false},
		{"var v error", true},
		{"var v = [...]string{1: `a`}", true},
		{"var v = map[string][]int{}", true},
		{"var v = struct{ a, b int }{1, 2}", true},
		{"var v = []struct{ f func() }{}", true},
	} {
		_, _, p := check(t, c.decl)
		if got := constantLike(p.Scope().Lookup("v").Type(), 0); got != c.want {
			t.Errorf("%s: table or error %v, want %v", c.decl, got, c.want)
		}
	}
}

// Every way to change a package-level variable is found; reading one, or
// changing a local of the same name, is not.
func TestWritten(t *testing.T) {
	for _, c := range []struct {
		body string
		want int
	}{
		{"v = nil", 1},
		{"v[0] = s{}", 1},
		{"v[0].a++", 1},
		{"v[0].a += 2", 1},
		{"_ = &v[0]", 1},
		{"_ = append(v[:0], s{})", 1},
		{"clear(v)", 1},
		{"copy(v, v)", 1},
		{"for v[0].a = range 3 {}", 1},
		{"w := v[0]; w.a++", 0},
		{"v := []s{{}}; v[0].a = 1", 0},
		{"for i := range v { _ = v[i] }", 0},
	} {
		f, info, _ := check(t, "type s struct{ a int }\nvar v []s\nfunc f() { "+c.body+" }")
		found := 0
		ast.Inspect(f, func(n ast.Node) bool {
			for _, e := range written(info, n) {
				if packageVar(info, e) != nil {
					found++
				}
			}
			return true
		})
		if found != c.want {
			t.Errorf("%s: %d writes found, want %d", c.body, found, c.want)
		}
	}
}

// Names without a comment are found.
func TestUndocumented(t *testing.T) {
	f, _, _ := check(t, `
type A int
// B is documented.
type B int
func (A) M() {}
func (A) String() string { return "" }
func (a) N() {}
type a int
const C = 1
// D and E.
const (
	D = 1
	E = 2
)
const F = 1 // has a comment
var G, h int
func I() {}
`)
	got := ""
	for _, n := range undocumented(f) {
		got += n.Name
	}
	if got != "AMCGI" {
		t.Errorf("undocumented names %q, want AMCGI", got)
	}
}
