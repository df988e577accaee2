package fidelity

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"

	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/run"
)

// Tolerances of runs without random marking.
const (
	fctShare   = 0.015
	countShare = 0.03
	peakShare  = 0.02
)

// seeds is how many runs make a band.
const seeds = 20

// smooth and paper turn the settings of one reference run into
// another's: random marking between Kmin and Kmax, and the timers of the
// DCQCN paper.
func smooth() []string {
	return []string{"KMAX_MAP=2 100000000000 1600 400000000000 6400", "PMAX_MAP=2 100000000000 0.20 400000000000 0.20"}
}

func paper() []string {
	return []string{"ALPHA_RESUME_INTERVAL=50", "RATE_DECREASE_INTERVAL=50", "RP_TIMER=55"}
}

// deterministicRuns are the reference runs without random numbers.
func deterministicRuns() []string {
	return []string{"single_dcqcn", "tiny_trace", "incast2_nocc", "incast4_nocc", "incast16_nocc", "incast16_nocc_buf4",
		"incast32_nocc", "incast2_dcqcn_step", "incast4_dcqcn_step", "incast16_dcqcn_step", "incast2_dcqcn_paper_step",
		"incast4_dcqcn_paper_step", "incast16_dcqcn_paper_step"}
}

// randomRuns are the incasts with random marking.
func randomRuns() []randomRun {
	return []randomRun{
		{name: "incast16_dcqcn"}, {name: "incast16_dcqcn_buf4"}, {name: "incast16_dcqcn_vwin"}, {name: "incast32_dcqcn"},
		{name: "incast2_dcqcn", from: "incast2_dcqcn_step", set: smooth()},
		{name: "incast4_dcqcn", from: "incast4_dcqcn_step", set: smooth()},
		{name: "incast2_dcqcn_paper", from: "incast2_dcqcn_paper_step", set: smooth()},
		{name: "incast4_dcqcn_paper", from: "incast4_dcqcn_paper_step", set: smooth()},
		{name: "incast16_dcqcn_paper", from: "incast16_dcqcn_paper_step", set: smooth()},
		{name: "incast32_dcqcn_paper", from: "incast32_dcqcn", set: paper()},
		{name: "two_dcqcn", long: true},
	}
}

// flowKey names a flow as fct.txt does.
func flowKey(src, dst string, port int) string { return fmt.Sprintf("%s>%s:%d", src, dst, port) }

// completions maps each flow to its completion time in ns. The k-th flow of a
// pair has source port 10000 + k.
func (c *checker) completions(r *record.Run) map[string]float64 {
	seen, out := map[string]int{}, map[string]float64{}
	for _, f := range r.Messages {
		if f.Status != "success" {
			c.abort("flow %s to %s: %s", f.Src, f.Dst, f.Status)
		}
		pair := f.Src + ">" + f.Dst
		out[flowKey(f.Src, f.Dst, 10000+seen[pair])] = float64(f.CompletionPS) / 1000
		seen[pair]++
	}
	return out
}

// key names the same flow from a reference.
func (f referenceFlow) key() string {
	return flowKey(fmt.Sprintf("h%d", f.Src), fmt.Sprintf("h%d", f.Dst), f.SrcPort)
}

// totals are the counts of a run that a reference knows too.
func totals(r *record.Run) (pauses, marks, peak float64) {
	for _, p := range r.Ports {
		pauses += float64(p.PausesReceived)
		marks += float64(p.Marked)
		if strings.HasPrefix(p.Node, "s") {
			peak = max(peak, float64(p.PeakQueueBytes))
		}
	}
	return pauses, marks, peak
}

const fromNS3 = "reference run of the ns-3 RDMA simulator"

// deterministic holds a run without random numbers to its reference.
func (c *checker) deterministic(name string) {
	ref, err := readReference(c.reference(name))
	c.must(err)
	r := c.do(run.Options{Files: map[string]string{"ns3": filepath.Join(c.reference(name), "config.txt")}})
	fct := c.completions(r)
	if len(fct) != len(ref.Flows) {
		c.abort("%d flows completed, %d in the reference", len(fct), len(ref.Flows))
	}
	worst, at := 0.0, referenceFlow{}
	for _, f := range ref.Flows {
		got, ok := fct[f.key()]
		if !ok {
			c.abort("no flow %s", f.key())
		}
		if off := math.Abs(got/float64(f.FCT) - 1); off >= worst {
			worst, at = off, f
		}
	}
	pauses, marks, peak := totals(r)
	c.near(fmt.Sprintf("completion furthest off, of %d (%s), ns", len(fct), at.key()), float64(at.FCT), fct[at.key()], fctShare, fromNS3)
	c.near("pauses", float64(ref.Pauses), pauses, countShare, fromNS3)
	c.near("marks", float64(ref.Marks), marks, countShare, fromNS3)
	c.near("queue peak, B", float64(ref.PeakQueue), peak, peakShare, fromNS3)
}

// randomRun is a reference run with random marking. Without files of its own
// it is another's with some settings changed, and its figures are those of
// the summary table.
type randomRun struct {
	name string
	from string
	set  []string
	long bool
}

// incastNames are the figures of an incast.
func incastNames() []string {
	return []string{"completion min, us", "completion p50, us", "completion max, us", "marks", "pauses", "queue peak, B"}
}

// expected returns the figures of a random run in the order of incastNames.
func (c *checker) expected(r randomRun) []float64 {
	if r.from != "" {
		row, err := readTableRow(c.reference("INCAST_TABLE.txt"), r.name)
		c.must(err)
		return []float64{row.Min, row.P50, row.Max, float64(row.Marks), float64(row.Pauses), float64(row.PeakQueue)}
	}
	ref, err := readReference(c.reference(r.name))
	c.must(err)
	var fct []float64
	for _, f := range ref.Flows {
		fct = append(fct, float64(f.FCT)/1000)
	}
	return incastFigures(fct, float64(ref.Marks), float64(ref.Pauses), float64(ref.PeakQueue))
}

func incastFigures(fct []float64, marks, pauses, peak float64) []float64 {
	v := sorted(fct)
	return []float64{v[0], quantile(v, 0.5), v[len(v)-1], marks, pauses, peak}
}

// incast runs 20 seeds and holds the reference to their range.
func (c *checker) incast(r randomRun) {
	folder := r.name
	if r.from != "" {
		folder = r.from
	}
	var runs [][]float64
	for seed := uint64(1); seed <= seeds; seed++ {
		got := c.do(run.Options{Files: map[string]string{"ns3": filepath.Join(c.reference(folder), "config.txt")}, Set: r.set, Seed: &seed})
		var fct []float64
		for _, f := range got.Messages {
			if f.Status != "success" {
				c.abort("seed %d: flow %s to %s: %s", seed, f.Src, f.Dst, f.Status)
			}
			fct = append(fct, float64(f.CompletionPS)/1e6)
		}
		pauses, marks, peak := totals(got)
		runs = append(runs, incastFigures(fct, marks, pauses, peak))
	}
	c.enter(bandsOf(incastNames(), c.expected(r), runs))
}

// bandsOf turns runs, each a list of figures, into one band per figure.
func bandsOf(figures []string, reference []float64, runs [][]float64) (out bands) {
	for i, figure := range figures {
		b := band{Name: figure, Reference: reference[i], Source: fromNS3 + "; range over seeds or ECMP salts, widened by half its width on each side"}
		for _, r := range runs {
			b.Runs = append(b.Runs, r[i])
		}
		out = append(out, b)
	}
	return out
}

// bucket is a range of flow sizes, low exclusive, high inclusive.
type bucket struct{ low, high int64 }

func (b bucket) String() string { return fmt.Sprintf("%d to %d B", b.low, b.high) }

// buckets are those of the reference's table.
func buckets() []bucket {
	edges := []int64{0, 1000, 4000, 10000, 30000, 100000, 300000, 1000000, math.MaxInt64}
	var out []bucket
	for i := range len(edges) - 1 {
		out = append(out, bucket{edges[i], edges[i+1]})
	}
	return out
}

// leastFlows is how many flows a bucket needs for its 99th percentile to count.
const leastFlows = 500

// slowdowns returns p50, p95 and p99 of completion over completion alone for
// each bucket with enough flows.
func slowdowns(ref *reference, fct func(referenceFlow) float64) (names []string, figures []float64) {
	for _, b := range buckets() {
		var v []float64
		for _, f := range ref.Flows {
			if b.low < f.Bytes && f.Bytes <= b.high {
				v = append(v, fct(f)/float64(f.Alone))
			}
		}
		if len(v) < leastFlows {
			continue
		}
		v = sorted(v)
		for _, q := range []float64{0.5, 0.95, 0.99} {
			names = append(names, fmt.Sprintf("slowdown p%g, %v", 100*q, b))
			figures = append(figures, quantile(v, q))
		}
	}
	return names, figures
}

// fatTree runs 20 seeds, each with ECMP hashes of its own.
func (c *checker) fatTree(name string) {
	ref, err := readReference(c.reference(name))
	c.must(err)
	names, figures := slowdowns(ref, func(f referenceFlow) float64 { return float64(f.FCT) })
	var runs [][]float64
	for seed := uint64(1); seed <= seeds; seed++ {
		fct := c.completions(c.do(run.Options{Files: map[string]string{"ns3": filepath.Join(c.reference(name), "config.txt")}, Seed: &seed}))
		_, got := slowdowns(ref, func(f referenceFlow) float64 {
			v, ok := fct[f.key()]
			if !ok {
				c.abort("no flow %s", f.key())
			}
			return v
		})
		runs = append(runs, got)
	}
	c.enter(bandsOf(names, figures, runs))
}
