package lang

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// writers are the packages whose sentences reports show.
var writers = []string{"metrics", "compare", "report", "page", "catalog"}

// namers are packages that name what the writers show.
var namers = []string{"record", "host", "run"}

// english are the parts of reports that have no Chinese yet, as docs/report.md says.
var english = []string{"report/advise.go", "report/decode.go", "report/diagnose.go", "report/difference.go", "report/fabric_text.go",
	"report/host_text.go", "report/calculation.go", "report/fidelity.go", "report/tuning.go", "report/packet.go",
	"report/sweep.go", "report/series.go"}

// counts are functions that are given a thing that is counted.
var counts = []string{"plural", "andMore", "counted", "were", "number", "howMany", "Counted", "numberOf"}

// values are the verbs of a format.
var values = regexp.MustCompile(`%[-+#0]*[\d.]*(\[(\d+)\])?([a-zA-Z%])`)

// constant is the string that an expression is, if it is a constant one.
func constant(e ast.Expr) (string, bool) {
	switch x := e.(type) {
	case *ast.Ident: // declared in the same file
		if x.Obj == nil || x.Obj.Kind != ast.Con {
			return "", false
		}
		if d, ok := x.Obj.Decl.(*ast.ValueSpec); ok && len(d.Values) == len(d.Names) {
			for i := range d.Names {
				if d.Names[i].Name == x.Name {
					return constant(d.Values[i])
				}
			}
		}
	case *ast.BasicLit:
		if x.Kind == token.STRING {
			s, err := strconv.Unquote(x.Value)
			return s, err == nil
		}
	case *ast.BinaryExpr:
		a, ok := constant(x.X)
		b, also := constant(x.Y)
		return a + b, ok && also && x.Op == token.ADD
	}
	return "", false
}

// hasWords reports whether anything of a format is to be translated.
func hasWords(s string) bool {
	return regexp.MustCompile(`[A-Za-z]`).MatchString(values.ReplaceAllString(s, ""))
}

// found are the sentences of the writers, by where they stand, and all their constant strings.
func found(t *testing.T) (asked map[string]string, all map[string]bool) {
	t.Helper()
	asked, all = map[string]string{}, map[string]bool{}
	for _, dir := range slices.Concat(writers, namers) {
		root := filepath.Join("..", dir)
		err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
				return err
			}
			if slices.Contains(english, filepath.ToSlash(filepath.Join(dir, filepath.Base(name)))) {
				return nil
			}
			src, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			set := token.NewFileSet()
			f, err := parser.ParseFile(set, name, src, 0)
			if err != nil {
				return err
			}
			ast.Inspect(f, func(n ast.Node) bool {
				if slices.Contains(namers, dir) {
					addConstant(all, n)
					return true
				}
				note(n, func(s string, at token.Pos) {
					if asked[s] == "" {
						asked[s] = set.Position(at).String()
					}
				})
				addConstant(all, n)
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return asked, all
}

// addConstant notes a constant string.
func addConstant(all map[string]bool, n ast.Node) {
	if e, ok := n.(ast.Expr); ok {
		if s, ok := constant(e); ok {
			all[s], all[CountPrefix+s] = true, true
		}
	}
}

// note tells of the sentences that a node asks a language for.
func note(n ast.Node, tell func(s string, at token.Pos)) {
	switch x := n.(type) {
	case *ast.KeyValueExpr:
		if key, ok := x.Key.(*ast.Ident); ok && (key.Name == "title" || key.Name == "Title") {
			if s, ok := constant(x.Value); ok && hasWords(s) {
				tell(s, x.Pos())
			}
		}
	case *ast.CallExpr:
		name, from := "", ""
		switch f := x.Fun.(type) {
		case *ast.SelectorExpr:
			name = f.Sel.Name
			if id, ok := f.X.(*ast.Ident); ok {
				from = id.Name
			}
		case *ast.Ident:
			name = f.Name
		}
		if len(x.Args) == 0 {
			return
		}
		if s, ok := constant(x.Args[0]); ok && (name == "Of" || name == "Sprintf" && from != "fmt") && (hasWords(s) || name == "Of") {
			tell(s, x.Pos())
		}
		if slices.Contains(counts, name) {
			for _, a := range x.Args {
				if s, ok := constant(a); ok && s != "" {
					tell(CountPrefix+s, a.Pos())
					return
				}
			}
		}
	}
}

// Every sentence, heading and thing that is counted has an entry in Chinese, which takes the same values, and every
// entry is that of something that the code says.
func TestChineseIsComplete(t *testing.T) {
	asked, all := found(t)
	table := map[string]string{}
	for _, part := range chinese {
		for en, zh := range part {
			if _, twice := table[en]; twice {
				t.Errorf("%q has two entries", en)
			}
			table[en] = zh
		}
	}
	for en, at := range asked {
		zh, ok := table[en]
		if !ok {
			t.Errorf("%s: %q has no entry", at, en)
			continue
		}
		if a, b := verbsOf(t, en), verbsOf(t, zh); !slices.Equal(a, b) {
			t.Errorf("%q takes %v, %q %v", en, a, zh, b)
		}
	}
	for en := range table {
		if asked[en] == "" && !all[en] {
			t.Errorf("nothing says %q", en)
		}
	}
}

// verbsOf are the verbs of a format by the number of their value.
func verbsOf(t *testing.T, format string) (out []string) {
	t.Helper()
	n := 0
	for _, m := range values.FindAllStringSubmatch(format, -1) {
		if m[3] == "%" {
			continue
		}
		if n++; m[2] != "" {
			n, _ = strconv.Atoi(m[2])
		}
		for len(out) < n {
			out = append(out, "")
		}
		out[n-1] = strings.Replace(m[0], m[1], "", 1)
	}
	return out
}
