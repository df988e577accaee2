// Package sweep says which runs a sweep of a scenario has, holds what came of each, and condenses that: points,
// medians, ranges. It makes no runs; package campaign does.
package sweep

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/vary"
)

// MostRuns bounds a sweep, of which every row, some 3 KB, is in memory once.
const MostRuns = 200_000

// Plan is what is run: every point with every seed.
type Plan struct {
	Scenario string
	Axes     []*vary.Axis
	Stacks   []string // that are swept as well; empty: the scenario's own
	Seeds    []uint64
	Samples  int            // points are samples of the axes; 0: all combinations of their values
	rows     [][]vary.Value // of the samples
}

// Setup is what a plan is made of.
type Setup struct {
	Scenario string
	Axes     []*vary.Axis
	Stacks   []string
	Seeds    []uint64
	Samples  int
}

// New makes a plan. An error says that it has too many runs, or that an axis has no values.
func New(s Setup) (*Plan, error) {
	p := &Plan{Scenario: s.Scenario, Axes: s.Axes, Stacks: s.Stacks, Seeds: s.Seeds, Samples: s.Samples}
	if n := p.most(); n > MostRuns {
		return nil, fmt.Errorf("%s are more than a sweep may have, %s; give fewer values, or --sample with a number of them",
			p.product(n), count(MostRuns))
	}
	for _, a := range p.Axes {
		if a.Sampled() && p.Samples > 0 {
			continue
		}
		if err := a.Expand(); err != nil {
			return nil, err
		}
	}
	if p.Samples > 0 {
		p.rows = vary.Sample(p.Axes, p.Samples)
	}
	return p, nil
}

// most is how many runs there are at most, or the largest number.
func (p *Plan) most() int64 {
	n := int64(max(1, len(p.Stacks)))
	times := func(k int64) {
		if k > 0 && n > math.MaxInt64/k {
			n = math.MaxInt64
			return
		}
		n *= max(1, k)
	}
	times(int64(len(p.Seeds)))
	if p.Samples > 0 {
		times(int64(p.Samples))
		return n
	}
	for _, a := range p.Axes {
		times(a.N())
	}
	return n
}

// product writes a number of runs and how it comes about.
func (p *Plan) product(n int64) string {
	var parts []string
	add := func(n int64, what string) {
		if n > 1 {
			parts = append(parts, count(n)+" "+what)
		}
	}
	add(int64(len(p.Stacks)), "stacks")
	if p.Samples > 0 {
		add(int64(p.Samples), "samples")
	} else {
		for _, a := range p.Axes {
			add(a.N(), "of "+a.Key)
		}
	}
	add(int64(len(p.Seeds)), "seeds")
	total := count(n) + " runs"
	if n == math.MaxInt64 {
		total = "more runs than can be counted"
	}
	if n == 1 {
		total = "1 run"
	}
	if len(parts) < 2 && n != math.MaxInt64 && p.Samples == 0 {
		return total
	}
	return total + " (" + strings.Join(parts, " x ") + ")"
}

func count(n int64) string { return metrics.FormatCount(n) }

// String says how many runs there are, and how that comes about: "24 runs (4 of switch.ecn.kmin x 6 seeds)".
func (p *Plan) String() string { return p.product(int64(p.Runs())) }

// Points is how many points there are.
func (p *Plan) Points() int {
	n := max(1, len(p.Stacks))
	if p.Samples > 0 {
		return n * p.Samples
	}
	for _, a := range p.Axes {
		n *= len(a.Values)
	}
	return n
}

// Runs is how many runs there are.
func (p *Plan) Runs() int { return p.Points() * len(p.Seeds) }

// Point is a combination of values, and perhaps a stack.
type Point struct {
	Stack  string       // "": the scenario's own
	Values []vary.Value // one for each axis
}

// Point returns point i. Stacks vary slowest, the last axis fastest.
func (p *Plan) Point(i int) Point {
	var pt Point
	each := p.Points() / max(1, len(p.Stacks))
	if len(p.Stacks) > 0 {
		pt.Stack = p.Stacks[i/each]
	}
	i %= each
	if p.Samples > 0 {
		pt.Values = p.rows[i]
		return pt
	}
	pt.Values = make([]vary.Value, len(p.Axes))
	for k := len(p.Axes) - 1; k >= 0; k-- {
		n := len(p.Axes[k].Values)
		pt.Values[k], i = p.Axes[k].Values[i%n], i/n
	}
	return pt
}

// RunAt returns run i: its point and seed. Seeds vary fastest.
func (p *Plan) RunAt(i int) (point int, seed uint64) {
	return i / len(p.Seeds), p.Seeds[i%len(p.Seeds)]
}

// Set lists the settings of a point, key=value.
func (p *Plan) Set(pt Point) (out []string) {
	for k, v := range pt.Values {
		out = append(out, p.Axes[k].Key+"="+v.Text)
	}
	return out
}

// Identity is the content that names of runs are made of.
type Identity struct {
	Program string // its version
	Base    string // hash of the scenario as it is read, without what is varied
	// Content are hashes of what a value of an axis brings in beyond its text, such as the file that it names, by
	// key=value; absent: nothing.
	Content map[string]string
}

// ID names run i by its content: equal runs of equal programs have equal names, in whatever sweep they are.
func (p *Plan) ID(id Identity, i int) string {
	point, seed := p.RunAt(i)
	pt := p.Point(point)
	h := sha256.New()
	fmt.Fprintf(h, "%s\n%s\nstack %q seed %d\n", id.Program, id.Base, pt.Stack, seed)
	for _, set := range p.Set(pt) {
		fmt.Fprintf(h, "%q %s\n", set, id.Content[set])
	}
	return hex.EncodeToString(h.Sum(nil)[:12])
}

// Hash names a text by its content.
func Hash(text []byte) string {
	h := sha256.Sum256(text)
	return hex.EncodeToString(h[:12])
}

// Shard lists the runs of shard k of n, from 0, in their order: every n-th.
func (p *Plan) Shard(k, n int) (out []int) {
	for i := k; i < p.Runs(); i += n {
		out = append(out, i)
	}
	return out
}

// Describe writes what is swept, a line for each axis, as it was given.
func (p *Plan) Describe(w io.Writer) {
	if len(p.Stacks) > 0 {
		fmt.Fprintf(w, "stack=%s\n", strings.Join(p.Stacks, ","))
	}
	for _, a := range p.Axes {
		fmt.Fprintf(w, "%s=%s\n", a.Key, a.Given)
	}
}
