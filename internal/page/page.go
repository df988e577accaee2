// Package page writes what a run, a comparison, an inquiry or a diagnosis came to as one HTML
// page that needs no network: style, script, drawings and data are in it. All sentences are
// those of package report; every figure names its place in the JSON that the same command
// writes, by a JSON pointer (RFC 6901).
package page

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"

	"github.com/hopscope/hopscope/internal/figure"
	"github.com/hopscope/hopscope/internal/visible"
)

//go:embed page.html page.css page.js
var files embed.FS

// Figure is something that stands in the JSON, as it is written for reading.
type Figure struct {
	Text string
	// Path are its places in the JSON, of several their sum; "": it is no figure of the JSON.
	Path string
	Kind string // what Text is of the value; see kinds
	// From is the place of an instant from which this one is told; "": it is told as it is.
	From  string
	Class string
}

// Kinds of figures.
const (
	kindText     = "text"     // the string itself
	kindSentence = "sentence" // what it tells of has these places
	kindTime     = "ps"       // a time in picoseconds, with its unit
	kindBytes    = "bytes"
	kindRate     = "bps"
	kindCount    = "count"
	kindShare    = "share" // a part of one, in percent
	kindNumber   = "number"
	kindFloor    = "floor" // a number, rounded down
)

// Column is that of a table.
type Column struct {
	Title  string
	Number bool
}

// Cells is a row of a table; the last cell fills what is left.
type Cells []Figure

// Table is one.
type Table struct {
	ID      string
	Title   string
	Path    string // what the title counts, in the JSON; "": nothing
	Columns []Column
	Rows    []Cells
	Filter  bool // a script offers to filter and to sort it
	Cards   bool // on a narrow screen each row is a block of its own
}

// dense is the table without the columns, other than the first, in which no row has anything.
func (t *Table) dense() *Table {
	for i := len(t.Columns) - 1; i > 0; i-- {
		empty := func(row Cells) bool { return row[i].Text == "" || row[i].Text == none }
		if slices.ContainsFunc(t.Rows, func(row Cells) bool { return !empty(row) }) {
			continue
		}
		t.Columns = slices.Delete(t.Columns, i, i+1)
		for k := range t.Rows {
			t.Rows[k] = slices.Delete(t.Rows[k], i, i+1)
		}
	}
	return t
}

// Rest is how many columns the last cell of a row fills.
func (t *Table) Rest(row Cells) int { return len(t.Columns) - len(row) + 1 }

// Last is the index of a row's last cell.
func (t *Table) Last(row Cells) int { return len(row) - 1 }

// Class is that of cell i of a row.
func (t *Table) Class(i int, row Cells) string {
	class := row[i].Class
	if t.Columns[i].Number && (i < len(row)-1 || len(row) == len(t.Columns)) {
		class = strings.TrimSpace("n " + class)
	}
	return class
}

// Key is a figure that stands out.
type Key struct {
	Label string
	Figure
}

// Block is a part of a section: one of these.
type Block struct {
	Label    string // before the sentence
	Sentence *Figure
	Table    *Table
	Drawing  template.HTML
	Caption  string // of the drawing
	Keys     []Key
	Text     string // preformatted
	Open     *Fold
}

// Fold is what is hidden until it is opened.
type Fold struct {
	ID, Title string
	Path      string // of what it is about, in the JSON
	Blocks    []Block
}

// Section is a part of the page.
type Section struct {
	ID, Title string
	Blocks    []Block
}

// Page is what is written.
type Page struct {
	Title    string
	Lead     []Figure // sentences below the title
	Verdict  *Figure
	Sections []Section
	Data     any // for the script
	// Drawings are those of the page, and of a timeline each quantity by itself.
	Drawings []*figure.Figure
	Program  string // and its version
	Source   string // how to get the JSON that figures name their places in
}

// Style is that of the page and of the figures in it.
func (p *Page) Style() template.CSS { return template.CSS(figure.Style() + text("page.css")) }

// Script is the page's.
func (p *Page) Script() template.JS { return template.JS(text("page.js")) }

func text(name string) string {
	data, err := files.ReadFile(name)
	if err != nil {
		panic(err) // it is embedded
	}
	return string(data)
}

// Write writes the page.
func (p *Page) Write(w io.Writer) error {
	t, err := template.New("page").Funcs(template.FuncMap{"clean": visible.Text,
		"lines": cleanLines}).Parse(text("page.html"))
	if err != nil {
		return fmt.Errorf("page: %w", err)
	}
	var b bytes.Buffer
	if err := t.Execute(&b, p); err != nil {
		return fmt.Errorf("page: %w", err)
	}
	_, err = w.Write(b.Bytes())
	return err
}

// cleanLines is visible.Text for each line of a text.
func cleanLines(s string) string {
	lines := strings.Split(strings.ReplaceAll(s, "\r\n", "\n"), "\n")
	for i := range lines {
		lines[i] = visible.Text(strings.ReplaceAll(lines[i], "\t", "        "))
	}
	return strings.Join(lines, "\n")
}

// add appends a section that has anything.
func (p *Page) add(id, title string, blocks ...Block) {
	if len(blocks) > 0 {
		p.Sections = append(p.Sections, Section{ID: id, Title: title, Blocks: blocks})
	}
}

// drawing is a block of a figure; none without one.
func (p *Page) drawing(f *figure.Figure, caption string) []Block {
	if f == nil {
		return nil
	}
	p.Drawings = append(p.Drawings, f)
	return []Block{{Drawing: template.HTML(f.Inline()), Caption: caption}} // figures escape their names
}

// sentences are blocks of sentences that tell of places in the JSON.
func sentences(list []string, path string) (out []Block) {
	for _, s := range list {
		out = append(out, Block{Sentence: &Figure{Text: s, Path: path, Kind: kindSentence}})
	}
	return out
}

// remark is a sentence of the page's own, on what it leaves out.
func remark(path, format string, args ...any) Block {
	return Block{Sentence: &Figure{Text: fmt.Sprintf(format, args...), Path: path, Kind: kindSentence}}
}

// said is a block of a sentence that stands in the JSON.
func said(s, path string) Block { return Block{Sentence: &Figure{Text: s, Path: path, Kind: kindText}} }
