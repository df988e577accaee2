package report

import (
	"slices"
	"strings"

	"github.com/hopscope/hopscope/internal/lang"
	"github.com/hopscope/hopscope/internal/visible"
)

// gap separates columns.
const gap = "  "

// column describes one column of a table.
type column struct {
	title string // may have two lines, split by "\n"
	right bool   // numbers align right
	// drop orders the columns that go when the table is too wide: the largest
	// first; 0 stays.
	drop int
	// wrap lets cells of this column break at spaces, down to wrapMin. It never
	// goes; it gives way after the columns with a larger drop went and before
	// the others do. One column of a table at most.
	wrap bool
}

// wrapMin is the narrowest a wrapped column gets.
const wrapMin = 12

// row is one line of a table. With a note, the note fills the line from column
// len(cells) on, wrapped.
type row struct {
	cells []string
	note  string
}

// table lays out rows so that columns line up.
type table struct {
	columns []column
	rows    []row
}

func (t *table) add(cells ...string) { t.addNote("", cells...) }

func (t *table) addNote(note string, cells ...string) {
	for i := range cells {
		cells[i] = visible.Text(cells[i])
	}
	t.rows = append(t.rows, row{cells: cells, note: note})
}

// in is the table with its titles, which are English, in a language; what rows hold is in it already.
func (t *table) in(l lang.Language) *table {
	if l != lang.Chinese {
		return t
	}
	out := &table{columns: slices.Clone(t.columns), rows: slices.Clone(t.rows)}
	for i := range out.columns {
		out.columns[i].title = l.Of(out.columns[i].title)
	}
	for i := range out.rows {
		r := &out.rows[i]
		r.note, r.cells = lang.Spaced(r.note), slices.Clone(r.cells)
		for k, cell := range r.cells {
			r.cells[k] = lang.Spaced(cell)
		}
	}
	return out
}

// lines renders the table for a terminal of the given width. Columns are
// dropped and wrapped until it fits; what still cannot fit is left to run over
// rather than cut, because a cut number is a wrong number.
func (t *table) lines(width int, p paint) []string {
	widths, keep := t.fit(width)
	out := t.header(widths, keep, p)
	for _, r := range t.rows {
		out = append(out, t.line(r, widths, keep, width)...)
	}
	return out
}

// fit chooses the columns to keep and their widths.
func (t *table) fit(width int) (widths []int, keep []bool) {
	keep = make([]bool, len(t.columns))
	for i, c := range t.columns {
		keep[i] = c.drop == 0 || t.used(i)
	}
	widths = t.widths()
	wrapped, natural := -1, 0
	for total(widths, keep) > width {
		i := t.yields(keep, wrapped)
		if i < 0 {
			break
		}
		if t.columns[i].wrap {
			wrapped, natural = i, widths[i]
			widths[i] = min(wrapMin, natural)
		} else {
			keep[i] = false
		}
	}
	if wrapped >= 0 { // it gets what room is left
		widths[wrapped] = min(natural, widths[wrapped]+max(width-total(widths, keep), 0))
	}
	return widths, keep
}

// yields returns the kept column that gives way next, or -1: the one with the
// largest drop among those that may go or wrap, the one already wrapped apart.
func (t *table) yields(keep []bool, wrapped int) int {
	next := -1
	for i, c := range t.columns {
		if !keep[i] || i == wrapped || c.drop == 0 && !c.wrap {
			continue
		}
		if next < 0 || c.drop > t.columns[next].drop {
			next = i
		}
	}
	return next
}

// used reports whether any row has something to show in column i, a dash or an
// empty cell being nothing.
func (t *table) used(i int) bool {
	for _, r := range t.rows {
		if i < len(r.cells) && r.cells[i] != "" && r.cells[i] != "-" {
			return true
		}
	}
	return false
}

func (t *table) widths() []int {
	widths := make([]int, len(t.columns))
	for i, c := range t.columns {
		for _, line := range strings.Split(c.title, "\n") {
			widths[i] = max(widths[i], visible.Width(line))
		}
	}
	for _, r := range t.rows {
		for i, cell := range r.cells {
			widths[i] = max(widths[i], visible.Width(cell))
		}
	}
	return widths
}

// total is the width of the kept columns and the gaps between them.
func total(widths []int, keep []bool) int {
	n := -len(gap)
	for i, w := range widths {
		if keep[i] {
			n += w + len(gap)
		}
	}
	return n
}

// header puts one-line titles on the last of the header's lines.
func (t *table) header(widths []int, keep []bool, p paint) []string {
	height := 1
	for i, c := range t.columns {
		if keep[i] {
			height = max(height, 1+strings.Count(c.title, "\n"))
		}
	}
	out := make([]string, height)
	for h := range out {
		var cells []string
		for _, c := range t.columns {
			title := strings.Split(c.title, "\n")
			at := h - (height - len(title))
			if at < 0 {
				cells = append(cells, "")
			} else {
				cells = append(cells, title[at])
			}
		}
		out[h] = p.bold(t.join(cells, widths, keep))
	}
	return out
}

func (t *table) line(r row, widths []int, keep []bool, width int) []string {
	if r.note == "" {
		return t.wrapped(r.cells, widths, keep)
	}
	head := t.join(r.cells, widths, keep)
	indent := total(widths[:len(r.cells)], keep[:len(r.cells)]) + len(gap)
	notes := wrap(r.note, max(width-indent, 20))
	out := []string{head + strings.Repeat(" ", indent-visible.Width(head)) + notes[0]}
	for _, n := range notes[1:] {
		out = append(out, strings.Repeat(" ", indent)+n)
	}
	return out
}

// wrapped is a row whose wrapping cell may need several lines.
func (t *table) wrapped(cells []string, widths []int, keep []bool) []string {
	for i, cell := range cells {
		if !t.columns[i].wrap || visible.Width(cell) <= widths[i] {
			continue
		}
		var out []string
		for n, part := range wrap(cell, widths[i]) {
			line := make([]string, len(cells))
			if n == 0 {
				copy(line, cells)
			}
			line[i] = part
			out = append(out, t.join(line, widths, keep))
		}
		return out
	}
	return []string{t.join(cells, widths, keep)}
}

// join pads cells to their columns and trims the end.
func (t *table) join(cells []string, widths []int, keep []bool) string {
	var b strings.Builder
	first := true
	for i, cell := range cells {
		if !keep[i] {
			continue
		}
		if !first {
			b.WriteString(gap)
		}
		first = false
		pad := strings.Repeat(" ", max(widths[i]-visible.Width(cell), 0))
		if t.columns[i].right {
			b.WriteString(pad + cell)
		} else {
			b.WriteString(cell + pad)
		}
	}
	return strings.TrimRight(b.String(), " ")
}

// wrap breaks s at spaces into lines of at most width columns; a longer word has
// a line of its own. A unit stays with its number. It returns at least one
// line.
func wrap(s string, width int) []string { return hang(s, width, 0) }

// hang is wrap with all lines but the first indented.
func hang(s string, width, indent int) []string {
	var out []string
	line := ""
	for _, word := range glued(visible.Text(s)) {
		between := " "
		for _, piece := range pieces(word) {
			if line != "" && visible.Width(line+between+piece) > width {
				if len(out) == 0 {
					width -= indent
				}
				out = append(out, line)
				line = ""
			}
			if line != "" {
				line += between
			}
			line += piece
			between = ""
		}
	}
	out = append(out, line)
	for i := range out[1:] {
		out[1+i] = strings.Repeat(" ", indent) + out[1+i]
	}
	return out
}

// glued splits s at spaces, except between a number and the short word after
// it, which is most likely its unit.
func glued(s string) []string {
	var out []string
	for _, word := range strings.Fields(s) {
		if n := len(out); n > 0 && isNumber(out[n-1]) && len(pieces(word)[0]) <= 5 {
			out[n-1] += " " + word
			continue
		}
		out = append(out, word)
	}
	return out
}

func isNumber(s string) bool {
	return s != "" && strings.Trim(s, "0123456789.,(") == ""
}

// paint adds colour when on.
type paint bool

func (p paint) bold(s string) string { return p.sgr("1", s) }
func (p paint) dim(s string) string  { return p.sgr("2", s) }
func (p paint) warn(s string) string { return p.sgr("33", s) }
func (p paint) fail(s string) string { return p.sgr("1;31", s) }

// sgr wraps s in an ECMA-48 select graphic rendition sequence.
func (p paint) sgr(code, s string) string {
	if !p || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}
