package scenario

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/hopscope/hopscope/internal/foreign"
	"github.com/hopscope/hopscope/internal/importer"
	"github.com/hopscope/hopscope/internal/server"
)

// isServerFile reports whether what stands after `server:` is a file's name.
func isServerFile(text string) bool {
	return text != noServer && !contains(server.Presets(), text) && strings.ContainsAny(text, "./\\")
}

// inlineServers puts the text of every file that a `server` names beside the name, so
// that the scenario kept with a run needs no other file. It reports whether there was
// any.
func (d *decoder) inlineServers(root *node) bool {
	found := d.inlineServer(root)
	if hosts := root.Get("hosts"); hosts != nil {
		for _, f := range hosts.Fields {
			found = d.inlineServer(f.Value) || found
		}
	}
	return found
}

func (d *decoder) inlineServer(parent *node) bool {
	s := parent.Get("server")
	if s == nil || d.err != nil {
		return false
	}
	if s.Kind == scalarNode && isServerFile(s.Text) {
		name := *s
		*s = node{Kind: mappingNode, Pos: name.Pos, Fields: []field{{Key: "file", Pos: name.Pos, Value: &name}}}
	}
	for i := range s.Fields { // the short form refined by --set
		if f := &s.Fields[i]; f.Key == "preset" && f.Value.Kind == scalarNode && isServerFile(f.Value.Text) {
			f.Key = "file"
		}
	}
	name := s.Get("file")
	if name == nil || name.Kind != scalarNode || s.Get("text") != nil {
		return false
	}
	path := name.Text
	if !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(d.file), path)
	}
	src, err := d.readFile(path)
	switch {
	case err != nil:
		d.fail(name.Pos, "server file %s cannot be read: %v; name an existing file, relative to the scenario, or a preset: %s", path, importer.Cause(err), suggestList(server.Presets()))
		return false
	case len(src) > maxFile:
		d.fail(name.Pos, "server file %s is longer than %d MiB; no server is", path, maxFile>>20)
		return false
	}
	text := strings.ReplaceAll(string(src), "\r\n", "\n")
	s.Fields = append(s.Fields, field{Key: "text", Pos: name.Pos, Value: &node{Kind: scalarNode, Text: text, Pos: pos{File: path, Line: 1, Col: 1}}})
	return true
}

// readServerFile reads a server from the text of a file.
func (r *resolver) readServerFile(o object, s *serverSettings) {
	name, _ := o.scalar("file")
	text, ok := o.scalar("text")
	switch {
	case !ok:
		return
	case name == "":
		name = "server"
	}
	at := o.n.Get("text").Pos
	t, err := server.Read(strings.TrimSuffix(filepath.Base(name), filepath.Ext(name)), []byte(text))
	var bad *server.Error
	other := foreign.Instead([]byte(text), "a server's topology", foreign.NCCLTopology, foreign.NVIDIAMatrix)
	if err != nil && other != "" {
		r.d.fail(pos{File: orFile(at.File, name)}, "%s", other)
		return
	}
	if errors.As(err, &bad) {
		r.d.fail(pos{File: orFile(at.File, name), Line: bad.Line, Col: bad.Col}, "%s", bad.Msg)
		return
	}
	for _, w := range t.Warnings {
		r.warn(fmt.Sprint("server file ", w.Line, w.Text), "%s", w.In(name))
	}
	s.tree, s.notes, s.staged, s.direct = t, t.Notes, false, false
}

// orFile names a file in errors: by its path, or by what a run kept of it.
func orFile(path, name string) string {
	if filepath.Base(path) == filepath.Base(name) {
		return path
	}
	return name
}
