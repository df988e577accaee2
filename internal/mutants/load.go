package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// pkg is a package to change: its files, parsed and type-checked.
type pkg struct {
	path, dir string // import path; folder
	name      string
	fset      *token.FileSet
	files     []*file
	info      *types.Info
}

// file is one source file of a package.
type file struct {
	name   string // within the folder
	source []byte
	syntax *ast.File
}

// loadPackages asks the go command for the files of the packages that match
// patterns, and for compiled export data of what they import.
func loadPackages(patterns []string) ([]*pkg, error) {
	args := append([]string{"list", "-export", "-deps", "-json=ImportPath,Name,Dir,Export,GoFiles,DepOnly"}, patterns...)
	cmd := exec.Command("go", args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w: %s", err, bytes.TrimSpace(stderr.Bytes()))
	}
	type listed struct {
		ImportPath, Name, Dir, Export string
		GoFiles                       []string
		DepOnly                       bool
	}
	export := map[string]string{}
	var wanted []listed
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var l listed
		if err := dec.Decode(&l); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		export[l.ImportPath] = l.Export
		if !l.DepOnly {
			wanted = append(wanted, l)
		}
	}
	var list []*pkg
	for _, l := range wanted {
		p := &pkg{path: l.ImportPath, dir: l.Dir, name: l.Name, fset: token.NewFileSet()}
		imp := importer.ForCompiler(p.fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(export[path]) })
		if err := p.load(l.GoFiles, imp); err != nil {
			return nil, err
		}
		list = append(list, p)
	}
	return list, nil
}

// load parses the files and checks their types.
func (p *pkg) load(names []string, imp types.Importer) error {
	var syntax []*ast.File
	for _, name := range names {
		source, err := os.ReadFile(filepath.Join(p.dir, name))
		if err != nil {
			return err
		}
		f, err := parser.ParseFile(p.fset, name, source, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		p.files = append(p.files, &file{name, source, f})
		syntax = append(syntax, f)
	}
	p.info = &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}}
	_, err := (&types.Config{Importer: imp}).Check(p.path, p.fset, syntax, p.info)
	return err
}
