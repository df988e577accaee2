package diagnose_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/hopscope/hopscope/internal/diagnose"
	"github.com/hopscope/hopscope/internal/ncclog"
)

// machines are scenarios of common clusters.
var machines = []string{
	"name: h100\nnoise: off\ntopology: {rail: {servers: 2, rails: 8, link: 400Gbps}}\nserver: dgx-h100\nworkload: [{collective: {op: allreduce, size: 1MiB}}]\n",
	"name: a100\nnoise: off\ntopology: {rail: {servers: 2, rails: 8, link: 200Gbps}}\nserver: dgx-a100\nworkload: [{collective: {op: allgather, size: 1MiB}}]\n",
}

// constants are drawn within 15 % of what the model takes: parts of a step on a GPU and of a
// proxy's turn, and the rate of NVLinks.
var constants = []struct {
	key  string
	ns   float64
	rate bool
}{{"costs.launch", 3000, false}, {"costs.start", 3000, false}, {"costs.poll", 280, false}, {"costs.load", 330, false}, {"costs.barrier", 300, false},
	{"costs.fence", 1000, false}, {"costs.flag", 500, false}, {"costs.host_flag", 400, false}, {"costs.host_poll", 1350, false}, {"costs.entry", 300, false}}

// drawn are changes of a scenario with constants drawn.
func drawn(rng *rand.Rand) (set []string) {
	for _, c := range constants {
		set = append(set, fmt.Sprintf("workload[0].collective.%s=%dns", c.key, int(c.ns*(0.85+0.3*rng.Float64()))))
	}
	return set
}

// sizesOf is a log of the sizes of a sweep, without times.
func sizesOf(from, to int64) *ncclog.Log {
	l := new(ncclog.Log)
	for n := from; n <= to; n *= 2 {
		l.Rows = append(l.Rows, ncclog.Row{Line: len(l.Rows) + 1, Bytes: n, US: 1})
	}
	return l
}

// open makes the curves of a scenario.
func open(t *testing.T, text string, set []string, to int64) *diagnose.Lab {
	t.Helper()
	lab, err := diagnose.Open(diagnose.Source{Scenario: "m", Text: []byte(text), Set: set}, to, []string{"log"}, sizesOf(1024, to))
	if err != nil {
		t.Fatal(err)
	}
	return lab
}

// measured is a log of a curve: half of its sizes, each with noise.
func measured(rng *rand.Rand, c *diagnose.Curve) *ncclog.Log {
	l := new(ncclog.Log)
	for i, b := range c.Bytes {
		if rng.IntN(2) == 0 {
			l.Rows = append(l.Rows, ncclog.Row{Bytes: int64(b), US: c.US[i] * math.Exp(0.05*rng.NormFloat64())})
		}
	}
	return l
}

// rates count what was found; alone are faults that come first by themselves, first those among
// the first suspect's, which the log could not tell apart.
type rates struct{ faults, alone, first, second, named, suspects, healthy, clean int }

// count counts what was found in a log with a fault; "": it has none.
func (r *rates) count(t *testing.T, d *diagnose.Diagnosis, fault string) {
	t.Helper()
	best, named := &d.Findings[0], d.Named()
	if fault == "" {
		r.healthy++
		if len(named) == 0 {
			r.clean++
		} else {
			t.Logf("healthy: %s, %.1f", best.Names(), best.Evidence)
		}
		return
	}
	r.faults++
	r.suspects += 1 + len(best.Like)
	if len(named) > 0 {
		r.named++
	}
	has := func(f *diagnose.Finding) bool {
		return f.Name == fault || slices.ContainsFunc(f.Like, func(l diagnose.Fault) bool { return l.Name == fault })
	}
	if best.Name == fault {
		r.alone++
	}
	switch {
	case has(best):
		r.first++
		r.second++
	case len(d.Findings) > 1 && has(&d.Findings[1]):
		r.second++
	default:
		t.Logf("%s: first %s, %.1f", fault, best.Names(), best.Evidence)
	}
}

// String has the rates as parts of a hundred.
func (r *rates) String() string {
	return fmt.Sprintf("%d faults: %d %% with the first suspect (of %.2f faults), %d %% its first, %d %% with the first two, %d %% named; "+
		"nothing found in %d of %d healthy logs", r.faults, 100*r.first/r.faults, float64(r.suspects)/float64(r.faults),
		100*r.alone/r.faults, 100*r.second/r.faults, 100*r.named/r.faults, r.clean, r.healthy)
}

// Faults that were put into synthetic logs come first, and healthy logs have nothing found:
// constants are drawn within 15 %, noise is 5 %, half of the sizes are missing. The long form
// takes minutes.
func TestSynthetic(t *testing.T) {
	draws, largest, of, seed := 10, int64(32<<20), machines[:1], uint64(15)
	if os.Getenv("HOPSCOPE_LONG") != "" {
		draws, largest, of, seed = 40, 64<<20, machines, 20261201 // not that by which the threshold was set
	}
	var all rates
	for k, text := range of {
		lab := open(t, text, nil, largest)
		if err := lab.Run(context.Background(), diagnose.Budget{Workers: 2}, func(int, int) {}); err != nil {
			t.Fatal(err)
		}
		rng := rand.New(rand.NewPCG(uint64(k), seed))
		for range draws {
			set := drawn(rng)
			all.draw(t, lab, rng, set, nil)
			all.draw(t, lab, rng, set, &lab.Tried[rng.IntN(len(lab.Tried))].Hypothesis)
		}
	}
	t.Log(all.String())
	if 10*all.first < 8*all.faults || 20*all.second < 19*all.faults {
		t.Errorf("the fault is first in %d of %d, want 8 of 10, and among the first two in %d, want 19 of 20", all.first, all.faults, all.second)
	}
	if 20*all.clean < 19*all.healthy {
		t.Errorf("nothing found in %d of %d healthy logs, want 19 of 20", all.clean, all.healthy)
	}
}

// draw measures a machine with a fault, or without.
func (r *rates) draw(t *testing.T, lab *diagnose.Lab, rng *rand.Rand, set []string, fault *diagnose.Hypothesis) {
	t.Helper()
	if fault != nil {
		set = append(set[:len(set):len(set)], fault.Set...)
	}
	c, err := lab.CurveOf(context.Background(), set)
	if err != nil {
		t.Fatal(err)
	}
	d, err := lab.Judge(measured(rng, &c))
	if err != nil {
		t.Fatal(err)
	}
	name := ""
	if fault != nil {
		name = fault.Name
	}
	r.count(t, d, name)
}

// What a log could not tell apart is one suspect, and what fits alike is named together.
func TestAlike(t *testing.T) {
	curve := func(us ...float64) diagnose.Curve {
		return diagnose.Curve{Bytes: []float64{1 << 10, 1 << 15, 1 << 20}, US: us}
	}
	fault := func(name string, us ...float64) diagnose.Fault {
		return diagnose.Fault{Hypothesis: diagnose.Hypothesis{Name: name}, Curve: curve(us...)}
	}
	f := diagnose.Faults{Healthy: curve(10, 20, 40), Tried: []diagnose.Fault{fault("a", 40, 80, 160), fault("b", 40, 80, 210),
		fault("c", 10, 20, 160), fault("d", 40, 80, 170)}}
	log := func(us ...float64) *ncclog.Log {
		return &ncclog.Log{Rows: []ncclog.Row{{Bytes: 1 << 10, US: us[0]}, {Bytes: 1 << 15, US: us[1]}, {Bytes: 1 << 20, US: us[2]}}}
	}
	judge := func(logs ...*ncclog.Log) *diagnose.Diagnosis {
		d, err := f.Judge(logs...)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	d := judge(log(40, 80, 160))
	if n := d.Named(); len(n) != 2 || n[0].Names() != "a, or d" || n[1].Names() != "b" {
		t.Errorf("named %v, want a and d together, and b", n)
	} else if at := diagnose.Apart(&n[0].Fault, &n[1].Fault); at.Bytes != 1<<20 || math.Abs(at.By-math.Log(21.0/16)) > 1e-9 {
		t.Errorf("apart at %v", at)
	}
	if n := judge(log(11, 22, 44)).Named(); n != nil {
		t.Errorf("healthy, a tenth slower: %v", n)
	}
	// Twice as slow as the model throughout, the good nodes too: their ratio says more.
	bad, good := log(20, 40, 320), log(20, 40, 80)
	for _, d := range []*diagnose.Diagnosis{judge(bad, good), judge(good, bad)} {
		if n := d.Named(); len(n) != 1 || n[0].Name != "c" || d.US[2] != 320 || d.Good[2] != 80 {
			t.Errorf("against good nodes: %v", n)
		}
	}
}

// Beyond the largest size that was run a log says no more than the rate there is sure: one that had not
// settled bears no verdict on larger sizes, one that had does.
func TestBeyond(t *testing.T) {
	sizes := []float64{1 << 20, 2 << 20, 4 << 20, 8 << 20}
	slow := func(us ...float64) diagnose.Curve {
		c := diagnose.Curve{Bytes: sizes}
		for _, u := range us {
			c.US = append(c.US, 2*u)
		}
		return c
	}
	named := func(us ...float64) int {
		f := diagnose.Faults{Healthy: diagnose.Curve{Bytes: sizes, US: us}, Tried: []diagnose.Fault{{Hypothesis: diagnose.Hypothesis{Name: "slow"}, Curve: slow(us...)}}}
		log := &ncclog.Log{}
		for _, b := range []float64{1 << 28, 1 << 30} {
			log.Rows = append(log.Rows, ncclog.Row{Bytes: int64(b), US: 2 * f.Healthy.At(b)})
		}
		d, err := f.Judge(log)
		if err != nil {
			t.Fatal(err)
		}
		return len(d.Named())
	}
	if named(20, 30, 50, 90) != 1 {
		t.Error("twice as slow above the sizes that were run, at a steady rate: nothing is named")
	}
	if named(20, 30, 50, 150) != 0 {
		t.Error("the rate had changed by 2.5 over the last doubling, and twice as slow beyond is named")
	}
}

// Between sizes a curve is a power of the size, beyond the last a straight line.
func TestCurve(t *testing.T) {
	c := diagnose.Curve{Bytes: []float64{1, 4, 16}, US: []float64{10, 40, 60}}
	for at, want := range map[float64]float64{0.5: 10, 1: 10, 2: 20, 4: 40, 8: 40 * math.Sqrt(1.5), 16: 60, 28: 80} {
		if got := c.At(at); math.Abs(got-want) > 1e-9 {
			t.Errorf("%v B: %v us, want %v", at, got, want)
		}
	}
}

// A budget of three runs makes the scenario as it is and two hypotheses, and names the others;
// so does a context that ends, once the scenario has run as it is.
func TestBudget(t *testing.T) {
	const text = "noise: off\ntopology: {rail: {servers: 2, rails: 8, link: 400Gbps}}\nserver: dgx-h100\nworkload: [collective: {op: allreduce, size: 1MiB}]\n"
	lab := open(t, text, nil, 1<<20)
	ran := 0
	if err := lab.Run(context.Background(), diagnose.Budget{Workers: 2, Runs: 3}, func(n, of int) { ran = max(ran, n) }); err != nil {
		t.Fatal(err)
	}
	all := len(lab.Tried) + len(lab.Untried) + len(lab.Left)
	if ran != 3 || len(lab.Left) != all-2 || len(lab.Healthy.US) == 0 {
		t.Errorf("%d runs, %d hypotheses of %d left", ran, len(lab.Left), all)
	}
	cut := open(t, text, nil, 1<<20)
	ctx, stop := context.WithCancel(context.Background())
	if err := cut.Run(ctx, diagnose.Budget{Workers: 1}, func(n, of int) {
		if n == 2 {
			stop()
		}
	}); err != nil || len(cut.Healthy.US) == 0 || len(cut.Left) == 0 || len(cut.Left) >= all {
		t.Errorf("stopped after two runs: %v, %d of %d left", err, len(cut.Left), all)
	}
	if d, err := cut.Judge(sizesOf(1024, 1<<20)); err != nil || len(d.Sizes) == 0 {
		t.Errorf("what had run is not judged: %v", err)
	}
	stop()
	if err := open(t, text, nil, 1<<20).Run(ctx, diagnose.Budget{Workers: 1}, func(int, int) {}); err == nil {
		t.Error("nothing had run, and no error")
	}
}
