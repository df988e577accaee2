package report

import (
	"bytes"
	"encoding/json"
	"io"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/record"
)

// Sheet is one named set of parameters, for hopscope show.
type Sheet struct {
	Kind    string        `json:"kind"`
	Name    string        `json:"name"`
	Summary string        `json:"summary"`
	Notes   []record.Note `json:"parameters"`
	// Layers, of a stack, are its API, transports and fabric.
	Layers *catalog.Layering `json:"layers,omitempty"`
}

// Sheets writes parameters with their sources, a table per sheet.
func Sheets(w io.Writer, sheets []Sheet, opt TextOptions) error {
	t := wideText(opt)
	for i, s := range sheets {
		if i > 0 {
			t.section()
		}
		t.prose(t.l.Sprintf("%s (%s): %s", s.Name, t.l.Of(s.Kind), s.Summary), t.paint.bold)
		t.r.Notes = s.Notes
		titles := parameterTitles()
		if s.Kind == "key" {
			titles = [3]string{t.l.Of("Key"), t.l.Of("Takes"), t.l.Of("Meaning")}
		}
		t.everyParameter(titles)
	}
	return t.end(w)
}

// SheetNames lists sheets without their parameters.
func SheetNames(w io.Writer, sheets []Sheet, opt TextOptions) error {
	t := wideText(opt)
	stacks := &table{columns: []column{{title: "Stack"}, {title: "API"}, {title: "Transport"}, {title: "Fabric"},
		{title: "What it is"}}}
	tab := &table{columns: []column{{title: "Name"}, {title: "Kind"}, {title: "What it is"}}}
	for _, s := range sheets {
		if l := s.Layers; l != nil {
			stacks.addNote(s.Summary, s.Name, l.API.In(t.l), l.TransportNames(), l.Fabric.In(t.l))
			continue
		}
		tab.addNote(s.Summary, s.Name, t.l.Of(s.Kind))
	}
	if len(stacks.rows) > 0 {
		t.table(stacks)
		t.section()
	}
	t.table(tab)
	return t.end(w)
}

// SheetsJSON encodes sheets, indented, with a newline at the end.
func SheetsJSON(sheets []Sheet) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	err := e.Encode(struct {
		Version int     `json:"version"`
		Sheets  []Sheet `json:"sheets"`
	}{pageVersion, sheets})
	return b.Bytes(), err
}
