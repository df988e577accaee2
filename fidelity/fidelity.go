// Package fidelity holds simulated runs to reference runs of the ns-3 RDMA
// simulators and to published cases. Its tests run scenario files through the
// same pipeline as a user's; this file is the book they keep: what was
// expected, what was measured, and where the expectation comes from.
package fidelity

import (
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"
)

// Figure is one number that a run was held to.
type Figure struct {
	Case      string // name of the case or of the reference run
	Name      string // what was measured, with its unit
	Expected  string
	Measured  string
	Tolerance string
	Source    string // where Expected comes from
	OK        bool
}

// String is the figure on one line, for a test's message.
func (f Figure) String() string {
	return fmt.Sprintf("%s, %s: expected %s (%s), measured %s; %s", f.Case, f.Name, f.Expected, f.Tolerance, f.Measured, f.Source)
}

// Book collects figures in the order in which they were checked.
type Book struct {
	Figures []Figure
}

// add keeps a figure and returns it.
func (b *Book) add(f Figure) Figure {
	b.Figures = append(b.Figures, f)
	return f
}

// Near holds measured to expected within a share of it: 0.015 is 1.5 %.
func (b *Book) Near(name, figure string, expected, measured, share float64, source string) Figure {
	return b.add(Figure{Case: name, Name: figure, Expected: number(expected), Measured: number(measured),
		Tolerance: fmt.Sprintf("±%.4g %%", share*100), Source: source,
		OK: math.Abs(measured-expected) <= share*math.Abs(expected)})
}

// Within holds measured to expected within an absolute distance.
func (b *Book) Within(name, figure string, expected, measured, distance float64, source string) Figure {
	return b.add(Figure{Case: name, Name: figure, Expected: number(expected), Measured: number(measured),
		Tolerance: "±" + number(distance), Source: source,
		OK: math.Abs(measured-expected) <= distance})
}

// Between holds measured to a closed range; an infinite end is open.
func (b *Book) Between(name, figure string, measured, low, high float64, source string) Figure {
	f := Figure{Case: name, Name: figure, Expected: number(low) + " to " + number(high), Measured: number(measured),
		Tolerance: "range", Source: source, OK: low <= measured && measured <= high}
	switch {
	case math.IsInf(high, 1):
		f.Expected = "at least " + number(low)
	case math.IsInf(low, -1):
		f.Expected = "at most " + number(high)
	}
	return b.add(f)
}

// Same holds a word to a word.
func (b *Book) Same(name, figure, expected, measured, source string) Figure {
	return b.add(Figure{Case: name, Name: figure, Expected: expected, Measured: measured, Tolerance: "exact", Source: source,
		OK: expected == measured})
}

// number prints six significant digits, whole numbers whole.
func number(v float64) string {
	if v == math.Trunc(v) && math.Abs(v) < 1e15 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.6g", v)
}

// Failed counts the figures that missed.
func (b *Book) Failed() (n int) {
	for _, f := range b.Figures {
		if !f.OK {
			n++
		}
	}
	return n
}

// Write prints the book as an aligned table under a title.
func (b *Book) Write(w io.Writer, title string) error {
	if _, err := fmt.Fprintf(w, "%s\n%d figures, %d missed\n\n", title, len(b.Figures), b.Failed()); err != nil {
		return err
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := func(cells ...string) { fmt.Fprintln(t, strings.Join(cells, "\t")) }
	row("case", "figure", "expected", "measured", "tolerance", "ok", "source")
	for _, f := range b.Figures {
		ok := "yes"
		if !f.OK {
			ok = "NO"
		}
		row(f.Case, f.Name, f.Expected, f.Measured, f.Tolerance, ok, f.Source)
	}
	return t.Flush()
}
