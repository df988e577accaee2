package scenario

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/hopscope/hopscope/internal/foreign"
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
	if hosts := root.get("hosts"); hosts != nil {
		for _, f := range hosts.fields {
			found = d.inlineServer(f.value) || found
		}
	}
	return found
}

func (d *decoder) inlineServer(parent *node) bool {
	s := parent.get("server")
	if s == nil || d.err != nil {
		return false
	}
	if s.kind == scalarNode && isServerFile(s.text) {
		name := *s
		*s = node{kind: mappingNode, pos: name.pos, fields: []field{{"file", name.pos, &name}}}
	}
	for i := range s.fields { // the short form refined by --set
		if f := &s.fields[i]; f.key == "preset" && f.value.kind == scalarNode && isServerFile(f.value.text) {
			f.key = "file"
		}
	}
	name := s.get("file")
	if name == nil || name.kind != scalarNode || s.get("text") != nil {
		return false
	}
	path := name.text
	if !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(d.file), path)
	}
	src, err := d.readFile(path)
	switch {
	case err != nil:
		d.fail(name.pos, "server file %s cannot be read: %v; name an existing file, relative to the scenario, or a preset: %s", path, rootCause(err), suggestList(server.Presets()))
		return false
	case len(src) > maxFile:
		d.fail(name.pos, "server file %s is longer than %d MiB; no server is", path, maxFile>>20)
		return false
	}
	text := strings.ReplaceAll(string(src), "\r\n", "\n")
	s.fields = append(s.fields, field{"text", name.pos, &node{kind: scalarNode, text: text, pos: pos{path, 1, 1}}})
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
	at := o.n.get("text").pos
	t, err := server.Read(strings.TrimSuffix(filepath.Base(name), filepath.Ext(name)), []byte(text))
	var bad *server.Error
	other := foreign.Instead([]byte(text), "a server's topology", foreign.NCCLTopology, foreign.NVIDIAMatrix)
	if err != nil && other != "" {
		r.d.fail(pos{file: orFile(at.file, name)}, "%s", other)
		return
	}
	if errors.As(err, &bad) {
		r.d.fail(pos{orFile(at.file, name), bad.Line, bad.Col}, "%s", bad.Msg)
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
