package fidelity

import (
	"fmt"
	"slices"
)

// band is the range of one figure over runs that differ in their seed only,
// against the one value of a reference run whose random numbers are others.
type band struct {
	Name      string
	Reference float64
	Runs      []float64
	Source    string
}

// inside reports whether the reference lies within the runs' smallest and
// largest value, widened on each side by a share of their distance.
func (b band) inside(widened float64) bool {
	low, high := slices.Min(b.Runs), slices.Max(b.Runs)
	more := (high - low) * widened
	return low-more <= b.Reference && b.Reference <= high+more
}

// constant reports whether all runs and the reference agree to the last digit:
// such a figure says nothing about a distribution.
func (b band) constant() bool {
	return slices.Min(b.Runs) == slices.Max(b.Runs) && b.Reference == b.Runs[0]
}

// bands are the figures of several random runs. The rule: each reference lies
// in its band widened by half its width on each side, and at least 80 % of
// them in the band itself.
type bands []band

// widened is the share of a band's width added on each side.
const widened = 0.5

// leastInside is the share of references that must lie in the band itself.
const leastInside = 0.8

// enter writes each band into the book, and keeps it for the rule about all.
func (c *checker) enter(all bands) {
	for _, b := range all {
		c.add(b.figure())
	}
	c.bands = append(c.bands, all...)
}

// figure holds the reference to the band widened by half.
func (b band) figure() Figure {
	return Figure{Name: b.Name, Expected: number(b.Reference),
		Measured:  number(slices.Min(b.Runs)) + " to " + number(slices.Max(b.Runs)),
		Tolerance: fmt.Sprintf("%d seeds, ±½ width", len(b.Runs)), Source: b.Source, OK: b.inside(widened)}
}

// shareOf holds the share of references within the bands as they are. Constant
// figures do not count: they would only flatter it.
func shareOf(all bands) CaseResult {
	inside, counted := 0, 0
	for _, one := range all {
		if one.constant() {
			continue
		}
		counted++
		if one.inside(0) {
			inside++
		}
	}
	b := book{name: "ns3/all"}
	b.inRange(fmt.Sprintf("share of %d varying figures within the range", counted),
		float64(inside)/float64(max(1, counted)), leastInside, 1, "rule for runs with random marking")
	return CaseResult{Info: Info{Name: b.name, Title: "all random reference runs together", Data: true}, Figures: b.figures}
}
