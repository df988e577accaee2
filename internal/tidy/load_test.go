package tidy

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

const root = "../.."

// pkg is one package of the repository, parsed and type-checked without its tests.
type pkg struct {
	path    string // below the module: "internal/sim"
	imports []string
	files   []*ast.File
	types   *types.Package
	info    *types.Info
}

// tree is the repository: loaded once for all tests.
type tree struct {
	fset *token.FileSet
	pkgs []*pkg
}

var load = sync.OnceValues(loadTree)

func repository(t *testing.T) *tree {
	t.Helper()
	r, err := load()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// loadTree asks the go command for files and compiled export data, and checks
// the types of every package of the module.
func loadTree() (*tree, error) {
	cmd := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles,Imports,Standard,Module,Error", "./...")
	cmd.Dir = root
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, errors.New("go list: " + stderr.String())
	}
	type listed struct {
		ImportPath, Dir, Export string
		GoFiles, Imports        []string
		Module                  *struct{ Main bool }
	}
	export := map[string]string{}
	var own []listed
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var l listed
		if err := dec.Decode(&l); err == io.EOF {
			break
		} else if err != nil {
			return nil, err
		}
		export[l.ImportPath] = l.Export
		if l.Module != nil && l.Module.Main {
			own = append(own, l)
		}
	}
	t := &tree{fset: token.NewFileSet()}
	imp := importer.ForCompiler(t.fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(export[path]) })
	for _, l := range own {
		p := &pkg{path: ownPath(l.ImportPath), imports: l.Imports}
		for _, f := range l.GoFiles {
			file, err := parser.ParseFile(t.fset, filepath.Join(l.Dir, f), nil, parser.ParseComments|parser.SkipObjectResolution)
			if err != nil {
				return nil, err
			}
			p.files = append(p.files, file)
		}
		p.info = &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{}}
		conf := types.Config{Importer: imp}
		if p.types, err = conf.Check(l.ImportPath, t.fset, p.files, p.info); err != nil {
			return nil, err
		}
		t.pkgs = append(t.pkgs, p)
	}
	return t, nil
}

// at is a place below the repository's root.
func (t *tree) at(pos token.Pos) string {
	p := t.fset.Position(pos)
	if abs, err := filepath.Abs(root); err == nil {
		if rel, err := filepath.Rel(abs, p.Filename); err == nil {
			p.Filename = rel
		}
	}
	p.Column = 0
	return p.String()
}

// tracked lists the files under version control, or, in an exported tree or
// without git, all.
func tracked(t *testing.T) []string {
	t.Helper()
	cmd := exec.Command("git", "ls-files", "-z")
	cmd.Dir = root
	out, err := cmd.Output()
	if err == nil && len(out) > 0 {
		return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	}
	var files []string
	err = filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && d.Name() == ".git" {
			return filepath.SkipDir
		}
		if rel, err := filepath.Rel(root, path); err == nil && !d.IsDir() {
			files = append(files, rel)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// ownPath is an import path below the module; "." is the module's own.
func ownPath(imported string) string {
	if imported+"/" == module {
		return "."
	}
	return strings.TrimPrefix(imported, module)
}
