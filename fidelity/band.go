package fidelity

import (
	"fmt"
	"slices"
)

// Band is the range of one figure over runs that differ in their seed only,
// against the one value of a reference run whose random numbers are others.
type Band struct {
	Case, Name string
	Reference  float64
	Runs       []float64
	Source     string
}

// Inside reports whether the reference lies within the runs' smallest and
// largest value, widened on each side by a share of their distance.
func (b Band) Inside(widened float64) bool {
	low, high := slices.Min(b.Runs), slices.Max(b.Runs)
	more := (high - low) * widened
	return low-more <= b.Reference && b.Reference <= high+more
}

// Constant reports whether all runs and the reference agree to the last digit:
// such a figure says nothing about a distribution.
func (b Band) Constant() bool {
	return slices.Min(b.Runs) == slices.Max(b.Runs) && b.Reference == b.Runs[0]
}

// Bands are the figures of several random runs. The rule: each reference lies
// in its band widened by half its width on each side, and at least 80 % of
// them in the band itself.
type Bands []Band

// widened is the share of a band's width added on each side.
const widened = 0.5

// leastInside is the share of references that must lie in the band itself.
const leastInside = 0.8

// Enter writes each band into the book.
func (all Bands) Enter(b *Book) (out []Figure) {
	for _, band := range all {
		out = append(out, b.add(Figure{Case: band.Case, Name: band.Name, Expected: number(band.Reference),
			Measured:  number(slices.Min(band.Runs)) + " to " + number(slices.Max(band.Runs)),
			Tolerance: fmt.Sprintf("range of %d seeds ±half its width", len(band.Runs)), Source: band.Source, OK: band.Inside(widened)}))
	}
	return out
}

// EnterShare writes the share of references within the bands as they are into
// the book. Constant figures do not count: they would only flatter it.
func (all Bands) EnterShare(b *Book, name string) Figure {
	inside, counted := 0, 0
	for _, band := range all {
		if band.Constant() {
			continue
		}
		counted++
		if band.Inside(0) {
			inside++
		}
	}
	return b.Between(name, fmt.Sprintf("share of %d varying figures within the range", counted),
		float64(inside)/float64(max(1, counted)), leastInside, 1, "rule for runs with random marking")
}
