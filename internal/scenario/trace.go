package scenario

import (
	"path/filepath"
	"strings"

	"github.com/hopscope/hopscope/internal/foreign"
)

// maxTraceRows bounds a trace; each row becomes a list item.
const maxTraceRows = 1 << 20

// inlineTraces replaces every `flows: {file: NAME}` of the workload by the rows
// that the file holds, so that the scenario kept with a run needs no other
// file. It reports whether there was any.
func (d *decoder) inlineTraces(root *node) bool {
	work := root.get("workload")
	if work == nil {
		return false
	}
	found := false
	for _, item := range work.items {
		flows := item.get("flows")
		if flows == nil || flows.get("file") == nil || d.err != nil {
			continue
		}
		found = true
		d.inlineTrace(flows)
	}
	return found
}

func (d *decoder) inlineTrace(flows *node) {
	name := flows.get("file")
	if name.kind != scalarNode {
		d.fail(name.pos, "flows.file is %s; it is the name of a file", name.kind)
		return
	}
	for _, other := range []string{"list", "rows"} {
		if flows.get(other) != nil {
			d.fail(name.pos, "flows has %s and a file; keep one", map[string]string{"list": "a list", "rows": "rows"}[other])
			return
		}
	}
	path := name.text
	if !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(d.file), path)
	}
	src, err := d.readFile(path)
	if err != nil {
		d.fail(name.pos, "flows.file %s cannot be read: %v; name an existing file, relative to the scenario", path, rootCause(err))
		return
	}
	if other := foreign.Instead(src, "a trace of flows", foreign.Trace); other != "" {
		d.fail(pos{file: path}, "%s", other)
		return
	}
	text := strings.TrimRight(strings.ReplaceAll(string(src), "\r\n", "\n"), "\n")
	for i := range flows.fields {
		if flows.fields[i].key == "file" {
			at := pos{path, 1, 1}
			flows.fields[i] = field{"rows", name.pos, &node{kind: scalarNode, text: text, pos: at, textAt: at}}
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
	at := rows.textAt
	if at == (pos{}) { // a text of one line, or one with escapes
		at = rows.pos
	}
	if n := strings.Count(rows.text, "\n"); n > maxTraceRows {
		d.fail(at, "more than %d flows; split the trace", maxTraceRows)
		return nil
	}
	var list []*node
	var columns []string
	line := at.line - 1
	for text := range strings.SplitSeq(rows.text, "\n") {
		line++
		if strings.TrimSpace(text) == "" {
			continue
		}
		if n := strings.Count(text, ","); n > len(known) {
			d.fail(pos{at.file, line, at.col}, "%d cells in a row; a trace has the columns %s", n+1, strings.Join(known, ","))
			return nil
		}
		cells := splitCells(pos{at.file, line, at.col}, text)
		if columns == nil {
			columns = d.traceColumns(cells, known)
			if d.err != nil {
				return nil
			}
			continue
		}
		if len(cells) != len(columns) {
			d.fail(cells[0].pos, "%d cells where the header has %d columns (%s); give one each", len(cells), len(columns), strings.Join(columns, ","))
			return nil
		}
		item := &node{kind: mappingNode, pos: cells[0].pos}
		for i, c := range cells {
			if c.text != "" {
				item.fields = append(item.fields, field{columns[i], c.pos, &node{kind: scalarNode, text: c.text, pos: c.pos}})
			}
		}
		list = append(list, item)
	}
	if len(list) == 0 {
		d.fail(at, "the trace is empty; begin with the header from,to,size,start and give a row per flow")
	}
	return list
}

// splitCells splits a line that begins at the given place.
func splitCells(at pos, text string) []ns3Word {
	var cells []ns3Word
	for cell := range strings.SplitSeq(text, ",") {
		trimmed := strings.TrimSpace(cell)
		cells = append(cells, ns3Word{trimmed, pos{at.file, at.line, at.col + strings.Index(cell, trimmed)}})
		at.col += len(cell) + 1
	}
	return cells
}

func (d *decoder) traceColumns(cells []ns3Word, known []string) []string {
	var columns []string
	for _, c := range cells {
		if !contains(known, c.text) {
			d.fail(c.pos, "the header names a column %q; name %s", c.text, strings.Join(known, ", "))
		}
		if contains(columns, c.text) {
			d.fail(c.pos, "the header names %q twice; keep one", c.text)
		}
		columns = append(columns, c.text)
	}
	return columns
}
