package tidy

import (
	"bytes"
	"go/ast"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Every exported name says what it is.
func TestExportedNamesAreDocumented(t *testing.T) {
	r := repository(t)
	for _, p := range r.pkgs {
		documented := false
		for _, f := range p.files {
			documented = documented || f.Doc != nil
			for _, name := range undocumented(f) {
				t.Errorf("%s: %s has no comment; say what it is, its unit and range", r.at(name.Pos()), name.Name)
			}
		}
		if !documented {
			t.Errorf("package %s has no comment", p.path)
		}
	}
}

// undocumented lists the exported names of a file that neither they nor their
// group explain.
func undocumented(f *ast.File) (names []*ast.Ident) {
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Name.IsExported() && d.Doc == nil && exportedReceiver(d) {
				names = append(names, d.Name)
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				names = append(names, undocumentedSpec(d, s)...)
			}
		}
	}
	return names
}

func undocumentedSpec(d *ast.GenDecl, s ast.Spec) (names []*ast.Ident) {
	switch s := s.(type) {
	case *ast.TypeSpec:
		if s.Name.IsExported() && d.Doc == nil && s.Doc == nil && s.Comment == nil {
			names = append(names, s.Name)
		}
	case *ast.ValueSpec:
		grouped := d.Tok == token.CONST && d.Doc != nil
		for _, n := range s.Names {
			if n.IsExported() && !grouped && d.Doc == nil && s.Doc == nil && s.Comment == nil {
				names = append(names, n)
			}
		}
	}
	return names
}

// exportedReceiver is false for methods of types that other packages cannot
// name, and for String, Error and the like, whose contract is their interface's.
func exportedReceiver(d *ast.FuncDecl) bool {
	if d.Recv == nil {
		return true
	}
	switch d.Name.Name {
	case "String", "Error", "Unwrap":
		return false
	}
	recv := d.Recv.List[0].Type
	for {
		switch x := recv.(type) {
		case *ast.StarExpr:
			recv = x.X
		case *ast.IndexExpr:
			recv = x.X
		case *ast.Ident:
			return x.IsExported()
		default:
			return true
		}
	}
}

// No file names a folder of the machine it was written on.
func TestNoMachinePaths(t *testing.T) {
	var folders [][]byte
	for _, dir := range []string{"work", "tmp", "root", "home"} {
		folders = append(folders, []byte("/"+dir+"/"))
	}
	for _, name := range tracked(t) {
		data, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			continue // deleted, and not yet committed as such
		}
		for i, line := range bytes.Split(data, []byte("\n")) {
			for _, f := range folders {
				if bytes.Contains(line, f) {
					t.Errorf("%s:%d names %s", name, i+1, f)
				}
			}
		}
	}
}

// Every shipped scenario comes with its report and a page.
func TestScenarioFolders(t *testing.T) {
	dirs, err := filepath.Glob(filepath.Join(root, "scenarios", "*", ""))
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, dir := range dirs {
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			continue
		}
		found++
		for _, name := range []string{"scenario.yaml", "golden.txt", "README.md"} {
			if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() == 0 {
				t.Errorf("scenarios/%s has no %s", filepath.Base(dir), name)
			}
		}
	}
	if found == 0 {
		t.Error("there are no shipped scenarios")
	}
}

// Links between the pages lead somewhere.
func TestLinks(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#\s]+)(#[^)]*)?\)`)
	for _, name := range tracked(t) {
		if !strings.HasSuffix(name, ".md") {
			continue
		}
		data, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			continue // deleted, and not yet committed as such
		}
		for _, m := range link.FindAllSubmatch(data, -1) {
			target := string(m[1])
			if strings.Contains(target, "://") {
				continue
			}
			if _, err := os.Stat(filepath.Join(root, filepath.Dir(name), target)); err != nil {
				t.Errorf("%s links to %s, which does not exist", name, target)
			}
		}
	}
}
