package report

import (
	"io"
	"math"
	"strconv"

	"github.com/hopscope/hopscope/internal/metrics"
)

// Calculation is what a calculator worked out: formulas, the numbers put in, and where both
// come from.
type Calculation struct {
	Version int        `json:"version"`
	Of      string     `json:"calculation"` // headroom, ecn or buffer
	Title   string     `json:"title"`
	Parts   []CalcPart `json:"parts"`
	Notes   []string   `json:"notes"` // what the numbers leave out, and what to do next
}

// CalcPart is one formula and its terms.
type CalcPart struct {
	Title   string     `json:"title"`
	Formula string     `json:"formula,omitempty"`
	Source  string     `json:"source,omitempty"` // of the formula
	Steps   []CalcStep `json:"steps"`
}

// CalcStep is one term, or what terms come to.
type CalcStep struct {
	Name    string  `json:"name"`
	Numbers string  `json:"numbers"` // what was put in
	Value   float64 `json:"value"`   // -1: there is none
	Unit    string  `json:"unit"`    // B, cells, queues, "%"; "": a number
	Source  string  `json:"source,omitempty"`
	Result  bool    `json:"result"` // it is what the part is about
}

// JSON encodes the calculation, indented, with a newline at the end.
func (c *Calculation) JSON() ([]byte, error) {
	out := *c
	out.Version = pageVersion
	return indented(&out)
}

// Text writes the calculation for reading. Width 0 means 100 columns.
func (c *Calculation) Text(w io.Writer, opt TextOptions) error {
	t := blank(opt)
	t.prose(c.Title, t.paint.bold)
	for i := range c.Parts {
		p := &c.Parts[i]
		t.section()
		t.prose(p.Title, t.paint.bold)
		if p.Formula != "" {
			t.prose("  "+p.Formula, plain)
		}
		if p.Source != "" {
			t.prose("  ["+p.Source+"]", t.paint.dim)
		}
		if len(p.Steps) == 0 {
			continue
		}
		tab := &table{
			columns: []column{
				{title: "Term"},
				{title: "Numbers"},
				{title: "Value", right: true},
				{title: "Source", wrap: true, drop: 1},
			},
		}
		for _, s := range p.Steps {
			value := amount(s.Value, s.Unit)
			if s.Result {
				value = "= " + value
			}
			tab.add(s.Name, s.Numbers, value, s.Source)
		}
		t.table(tab)
	}
	if len(c.Notes) > 0 {
		t.section()
	}
	for _, n := range c.Notes {
		t.prose(n, plain)
	}
	return t.end(w)
}

// amount writes a value to the byte or cell, or to four digits.
func amount(v float64, unit string) string {
	text := strconv.FormatFloat(v, 'g', 4, 64)
	switch {
	case v < 0:
		return "none"
	case v == math.Trunc(v) && math.Abs(v) < 1<<53:
		text = metrics.FormatCount(int64(v))
	}
	if unit == "" {
		return text
	}
	return text + " " + unit
}
