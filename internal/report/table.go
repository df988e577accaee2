package report

import (
	"strings"
	"unicode/utf8"
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
}

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

func (t *table) add(cells ...string) { t.rows = append(t.rows, row{cells: cells}) }

func (t *table) addNote(note string, cells ...string) {
	t.rows = append(t.rows, row{cells: cells, note: note})
}

// lines renders the table for a terminal of the given width. Columns that may
// go are dropped until it fits; what cannot fit is left to run over rather than
// cut, because a cut number is a wrong number.
func (t *table) lines(width int, p paint) []string {
	keep := make([]bool, len(t.columns))
	for i, c := range t.columns {
		keep[i] = c.drop == 0 || t.used(i)
	}
	widths := t.widths()
	for total(widths, keep) > width {
		victim := -1
		for i, c := range t.columns {
			if keep[i] && c.drop > 0 && (victim < 0 || c.drop > t.columns[victim].drop) {
				victim = i
			}
		}
		if victim < 0 {
			break
		}
		keep[victim] = false
	}
	out := t.header(widths, keep, p)
	for _, r := range t.rows {
		out = append(out, t.line(r, widths, keep, width)...)
	}
	return out
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
			widths[i] = max(widths[i], utf8.RuneCountInString(line))
		}
	}
	for _, r := range t.rows {
		for i, cell := range r.cells {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
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
		return []string{t.join(r.cells, widths, keep)}
	}
	head := t.join(r.cells, widths, keep)
	indent := total(widths[:len(r.cells)], keep[:len(r.cells)]) + len(gap)
	notes := wrap(r.note, max(width-indent, 20))
	out := []string{head + strings.Repeat(" ", indent-utf8.RuneCountInString(head)) + notes[0]}
	for _, n := range notes[1:] {
		out = append(out, strings.Repeat(" ", indent)+n)
	}
	return out
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
		pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
		if t.columns[i].right {
			b.WriteString(pad + cell)
		} else {
			b.WriteString(cell + pad)
		}
	}
	return strings.TrimRight(b.String(), " ")
}

// wrap breaks s at spaces into lines of at most width runes; a longer word has
// a line of its own. It returns at least one line.
func wrap(s string, width int) []string {
	var out []string
	line := ""
	for _, word := range strings.Fields(s) {
		if line != "" && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width {
			out = append(out, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(out, line)
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
