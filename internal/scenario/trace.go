package scenario

import (
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

// traceRows reads comma-separated rows under a header that names the columns,
// in any order, with units as in the scenario. An empty cell leaves its key out.
func (d *decoder) traceRows(rows *node, known []string) []*node {
	at := rows.TextAt
	if at == (pos{}) { // a text of one line, or one with escapes
		at = rows.Pos
	}
	if n := strings.Count(rows.Text, "\n"); n > maxTraceRows {
		d.fail(at, "more than %d flows; split the trace", maxTraceRows)
		return nil
	}
	var list []*node
	var columns []string
	line := at.Line - 1
	for text := range strings.SplitSeq(rows.Text, "\n") {
		line++
		if strings.TrimSpace(text) == "" {
			continue
		}
		if n := strings.Count(text, ","); n > len(known) {
			d.fail(pos{File: at.File, Line: line, Col: at.Col}, "%d cells in a row; a trace has the columns %s", n+1, strings.Join(known, ","))
			return nil
		}
		cells := tree.Cells(pos{File: at.File, Line: line, Col: at.Col}, text)
		if columns == nil {
			columns = d.traceColumns(cells, known)
			if d.err != nil {
				return nil
			}
			continue
		}
		if len(cells) != len(columns) {
			d.fail(cells[0].Pos, "%d cells where the header has %d columns (%s); give one each", len(cells), len(columns), strings.Join(columns, ","))
			return nil
		}
		item := &node{Kind: mappingNode, Pos: cells[0].Pos}
		for i, c := range cells {
			if c.Text != "" {
				item.Fields = append(item.Fields, field{Key: columns[i], Pos: c.Pos, Value: &node{Kind: scalarNode, Text: c.Text, Pos: c.Pos}})
			}
		}
		list = append(list, item)
	}
	if len(list) == 0 {
		d.fail(at, "the trace is empty; begin with the header from,to,size,start and give a row per flow")
	}
	return list
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
