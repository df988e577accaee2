package scenario

import (
	"path/filepath"
	"strings"
)

// maxTraceRows bounds a trace file; each row becomes a list item.
const maxTraceRows = 1 << 20

// inlineTraces replaces every `flows: {file: NAME}` of the workload by the list
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
	if flows.get("list") != nil {
		d.fail(name.pos, "flows has a list and a file; keep one")
		return
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
	list := d.traceRows(path, string(src))
	for i := range flows.fields {
		if flows.fields[i].key == "file" {
			flows.fields[i] = field{"list", name.pos, list}
		}
	}
}

// traceRows reads comma-separated rows under a header that names the columns:
// from, to, size and start, in any order, with units as in the scenario.
func (d *decoder) traceRows(path, src string) *node {
	list := &node{kind: sequenceNode, pos: pos{path, 1, 1}}
	var columns []string
	line := 0
	for text := range strings.SplitSeq(src, "\n") {
		line++
		if strings.TrimSpace(text) == "" || d.err != nil {
			continue
		}
		cells := splitCells(path, line, text)
		if columns == nil {
			columns = d.traceColumns(cells)
			continue
		}
		if len(cells) != len(columns) {
			d.fail(cells[0].pos, "%d cells where the header has %d columns (%s); give one each", len(cells), len(columns), strings.Join(columns, ","))
			return list
		}
		item := &node{kind: mappingNode, pos: cells[0].pos}
		for i, c := range cells {
			item.fields = append(item.fields, field{columns[i], c.pos, &node{kind: scalarNode, text: c.text, pos: c.pos}})
		}
		list.items = append(list.items, item)
		if len(list.items) > maxTraceRows {
			d.fail(item.pos, "more than %d flows; split the trace", maxTraceRows)
		}
	}
	if d.err == nil && len(list.items) == 0 {
		d.fail(list.pos, "the trace is empty; begin with the header from,to,size,start and give a row per flow")
	}
	return list
}

func splitCells(path string, line int, text string) []ns3Word {
	var cells []ns3Word
	col := 1
	for cell := range strings.SplitSeq(text, ",") {
		trimmed := strings.TrimSpace(cell)
		cells = append(cells, ns3Word{trimmed, pos{path, line, col + strings.Index(cell, trimmed)}})
		col += len(cell) + 1
	}
	return cells
}

func (d *decoder) traceColumns(cells []ns3Word) []string {
	known := []string{"from", "to", "size", "start"}
	var columns []string
	for _, c := range cells {
		if !contains(known, c.text) {
			d.fail(c.pos, "the header names a column %q; name from, to, size, start", c.text)
		}
		if contains(columns, c.text) {
			d.fail(c.pos, "the header names %q twice; keep one", c.text)
		}
		columns = append(columns, c.text)
	}
	return columns
}
