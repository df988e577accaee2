package scenario

import (
	"iter"
	"path/filepath"
	"strings"

	"github.com/hopscope/hopscope/internal/foreign"
	"github.com/hopscope/hopscope/internal/importer"
	"github.com/hopscope/hopscope/internal/tree"
)

// maxTraceRows bounds a trace; each row becomes a list item.
const maxTraceRows = 1 << 20

// inlineTraces replaces every `flows: {file: NAME}` of the workload by the rows
// that the file holds, so that the scenario kept with a run needs no other
// file. It reports whether there was any.
func (d *decoder) inlineTraces(root *node) bool {
	work := root.Get("workload")
	if work == nil {
		return false
	}
	found := false
	for _, item := range work.Items {
		flows := item.Get("flows")
		if flows == nil || flows.Get("file") == nil || d.err != nil {
			continue
		}
		found = true
		d.inlineTrace(flows)
	}
	return found
}

func (d *decoder) inlineTrace(flows *node) {
	name := flows.Get("file")
	if name.Kind != scalarNode {
		d.fail(name.Pos, "flows.file is %s; it is the name of a file", name.Kind)
		return
	}
	for _, other := range []string{"list", "rows"} {
		if flows.Get(other) != nil {
			d.fail(name.Pos, "flows has %s and a file; keep one", map[string]string{"list": "a list", "rows": "rows"}[other])
			return
		}
	}
	path := name.Text
	if !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(d.file), path)
	}
	src, err := d.readFile(path)
	if err != nil {
		d.fail(name.Pos, "flows.file %s cannot be read: %v; name an existing file, relative to the scenario", path, importer.Cause(err))
		return
	}
	if other := foreign.Instead(src, "a trace of flows", foreign.Trace); other != "" {
		d.fail(pos{File: path}, "%s", other)
		return
	}
	text := strings.TrimRight(strings.ReplaceAll(string(src), "\r\n", "\n"), "\n")
	for i := range flows.Fields {
		if flows.Fields[i].Key == "file" {
			at := pos{File: path, Line: 1, Col: 1}
			flows.Fields[i] = field{Key: "rows", Pos: name.Pos, Value: &node{Kind: scalarNode, Text: text, Pos: at, TextAt: at}}
		}
	}
}

// traceColumnNames are the columns of a trace, which are the keys of an item of
// `flows: {list: ...}` but for path, which is a list.
func (r *resolver) traceColumnNames() (names []string) {
	for _, name := range keyNames(r.flowKeys()) {
		if name != "path" {
			names = append(names, name)
		}
	}
	return names
}

// traceRows are comma-separated rows under a header that names the columns, in any order, with
// units as in the scenario, one by one: a trace may have a million. An empty cell leaves its key out.
func (d *decoder) traceRows(rows *node, known []string) iter.Seq[*node] {
	at := rows.TextAt
	if at == (pos{}) { // a text of one line, or one with escapes
		at = rows.Pos
	}
	return func(yield func(*node) bool) {
		if n := strings.Count(rows.Text, "\n"); n > maxTraceRows {
			d.fail(at, "more than %d flows; split the trace", maxTraceRows)
			return
		}
		t := traceReader{d: d, at: at, known: known}
		any := false
		for text := range strings.SplitSeq(rows.Text, "\n") {
			item := t.row(text)
			if d.err != nil {
				return
			}
			if item != nil {
				if any = true; !yield(item) {
					return
				}
			}
			t.at.Line++
		}
		if !any {
			d.fail(at, "the trace is empty; begin with the header from,to,size,start and give a row per flow")
		}
	}
}

// traceReader reads the lines of a trace.
type traceReader struct {
	d              *decoder
	at             pos // of the next line
	known, columns []string
}

// row is what a line gives; nil: it is empty, or the header.
func (t *traceReader) row(text string) *node {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	if n := strings.Count(text, ","); n > len(t.known) {
		t.d.fail(t.at, "%d cells in a row; a trace has the columns %s", n+1, strings.Join(t.known, ","))
		return nil
	}
	cells := tree.Cells(t.at, text)
	if t.columns == nil {
		t.columns = t.d.traceColumns(cells, t.known)
		return nil
	}
	if len(cells) != len(t.columns) {
		t.d.fail(cells[0].Pos, "%d cells where the header has %d columns (%s); give one each", len(cells), len(t.columns),
			strings.Join(t.columns, ","))
		return nil
	}
	item := &node{Kind: mappingNode, Pos: cells[0].Pos}
	for i, c := range cells {
		if c.Text != "" {
			value := &node{Kind: scalarNode, Text: c.Text, Pos: c.Pos}
			item.Fields = append(item.Fields, field{Key: t.columns[i], Pos: c.Pos, Value: value})
		}
	}
	return item
}

func (d *decoder) traceColumns(cells []word, known []string) []string {
	var columns []string
	for _, c := range cells {
		if !contains(known, c.Text) {
			d.fail(c.Pos, "the header names a column %q; name %s", c.Text, strings.Join(known, ", "))
		}
		if contains(columns, c.Text) {
			d.fail(c.Pos, "the header names %q twice; keep one", c.Text)
		}
		columns = append(columns, c.Text)
	}
	return columns
}
