// Package fidelity holds the simulator to published cases, closed forms and
// reference runs of the ns-3 RDMA simulators. Every case runs scenarios through
// the same pipeline as a user's; none builds devices or calls a controller. What
// was expected, what was measured and where the expectation comes from stand in
// one Figure each. The command and the tests run the same cases.
package fidelity

import (
	"fmt"
	"math"

	"github.com/hopscope/hopscope/internal/cases"
)

// What came of cases is told in the words of package cases.
type (
	Figure     = cases.Figure
	Info       = cases.Info
	CaseResult = cases.CaseResult
	LeftOut    = cases.LeftOut
	Result     = cases.Result
)

// Version is that of Result as JSON.
const Version = cases.Version

// book collects the figures of one case in the order in which they were checked.
type book struct {
	name    string // of the case
	figures []Figure
}

// add keeps a figure and returns it.
func (b *book) add(f Figure) Figure {
	f.Case = b.name
	b.figures = append(b.figures, f)
	return f
}

// near holds measured to expected within a share of it: 0.015 is 1.5 %.
func (b *book) near(figure string, expected, measured, share float64, source string) Figure {
	return b.add(Figure{Name: figure, Expected: number(expected), Measured: number(measured),
		Tolerance: fmt.Sprintf("±%.4g %%", share*100), Source: source,
		OK: math.Abs(measured-expected) <= share*math.Abs(expected)})
}

// because says why the latest figure misses, if it does.
func (b *book) because(f Figure, why string) {
	if n := len(b.figures); !f.OK && n > 0 {
		b.figures[n-1].Why = why
	}
}

// within holds measured to expected within an absolute distance.
func (b *book) within(figure string, expected, measured, distance float64, source string) Figure {
	f := Figure{Name: figure, Expected: number(expected), Measured: number(measured),
		Tolerance: "±" + number(distance), Source: source,
		OK: math.Abs(measured-expected) <= distance}
	if distance == 0 {
		f.Tolerance = "exact"
	}
	return b.add(f)
}

// inRange holds measured to a closed range; an infinite end is open.
func (b *book) inRange(figure string, measured, low, high float64, source string) Figure {
	f := Figure{Name: figure, Expected: number(low) + " to " + number(high), Measured: number(measured),
		Tolerance: "range", Source: source, OK: low <= measured && measured <= high}
	switch {
	case math.IsInf(high, 1):
		f.Expected = "at least " + number(low)
	case math.IsInf(low, -1):
		f.Expected = "at most " + number(high)
	}
	return b.add(f)
}

// same holds a word to a word.
func (b *book) same(figure, expected, measured, source string) Figure {
	return b.add(Figure{Name: figure, Expected: expected, Measured: measured, Tolerance: "exact", Source: source,
		OK: expected == measured})
}

// number prints six significant digits, whole numbers whole.
func number(v float64) string {
	if v == math.Trunc(v) && math.Abs(v) < 1e15 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.6g", v)
}
