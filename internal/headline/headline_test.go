package headline_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/hopscope/hopscope/internal/compare"
	"github.com/hopscope/hopscope/internal/headline"
	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/run"
)

// runOf runs a small scenario of its own.
func runOf(t *testing.T, workload string, set ...string) *record.Run {
	t.Helper()
	text := "name: small\ntopology: {star: {hosts: 5, link: 100Gbps}}\nworkload:\n" + workload
	r, _, err := run.Do(context.Background(), run.Options{Scenario: "small", Text: []byte(text), Set: set, Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

const (
	incast     = "  - incast: {from: [h0, h1, h2, h3], to: h4, size: 1MB}\n"
	calls      = "  - rpc: {between: [h0, h1], request: 1KB, reply: 10KB, every: 50us, count: 5}\n"
	collective = "  - collective: {op: allreduce, ranks: [h0, h1, h2, h3], size: 1MB, count: 2}\n"
	none       = "  - flow: {from: h0, to: h1, size: 1MB, start: 2ms}\n"
)

// What compare puts into a row of a run has the same names and values here.
func TestSameAsCompare(t *testing.T) {
	for _, c := range []struct {
		workload string
		set      []string
	}{{incast, nil}, {incast, []string{"stack=rocev2-pfc-only"}}, {incast, []string{"stack=tcp"}}, {calls, nil}, {collective, nil},
		{none, []string{"stop=1ms"}}} {
		r := runOf(t, c.workload, c.set...)
		values := headline.Of(r, metrics.Summarise(r))
		data, err := json.Marshal(compare.Of([]string{"x"}, []*record.Run{r}).Stacks[0].Runs[0])
		if err != nil {
			t.Fatal(err)
		}
		var row map[string]any
		if err := json.Unmarshal(data, &row); err != nil {
			t.Fatal(err)
		}
		for name, want := range row {
			if name == "seed" {
				continue
			}
			want, number := want.(float64)
			got, ok := values.Get(name)
			if number && (!ok || got != want) {
				t.Errorf("%s%v: %s is %v, %v; compare has %v", c.workload, c.set, name, got, ok, want)
			}
		}
		for i, k := range compare.Of([]string{"x"}, []*record.Run{r}).Stacks[0].Runs[0].Collectives {
			time, busbw := values[len(values)-2], values[len(values)-1]
			if i > 0 || time.X != float64(k.TimePS) || busbw.X != k.BusBW || busbw.Title != k.Workload+" busbw" || k.BusBW <= 0 {
				t.Errorf("collective %d: %+v and %+v; compare has %+v", i, time, busbw, k)
			}
		}
	}
}

// A run whose messages have not completed has no times, and no value stands for one.
func TestMissing(t *testing.T) {
	r := runOf(t, none, "stop=1ms")
	values := headline.Of(r, metrics.Summarise(r))
	for _, name := range []string{"makespan_ps", "completion_p99_ps", "slowdown_p99", "goodput_bps", "rpc_p99_ps", "jain"} {
		if x, ok := values.Get(name); ok {
			t.Errorf("%s is %v", name, x)
		}
	}
	if x, ok := values.Get("open"); !ok || x != 1 {
		t.Errorf("open is %v, %v", x, ok)
	}
}

// The figures of a job are those of compare, and add up: its one step computes 100 us, and the rest is communication
// beside nothing, or waiting.
func TestJobs(t *testing.T) {
	text := "topology: {star: {hosts: 2, link: 100Gbps}}\njobs:\n  - {name: a, communicators: {dp: {size: 2}}, operations: " +
		"[{compute: {time: 100us}}, {allreduce: {on: dp, size: 1MB, after: compute}}]}\n"
	r, _, err := run.Do(context.Background(), run.Options{Scenario: "small", Text: []byte(text), Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	values, got := headline.Of(r, metrics.Summarise(r)), compare.Of([]string{"x"}, []*record.Run{r}).Stacks[0].Runs[0].Jobs[0]
	for name, want := range map[string]float64{"step time": float64(got.StepPS), "exposed": float64(got.ExposedPS),
		"job_0_bubble": float64(got.BubblePS), "idle": float64(got.WaitPS + got.OverPS)} {
		f, ok := headline.Find(name)
		if x, has := values.Get(f.Name); !ok || !has || x != want {
			t.Errorf("%s is %v, want %v", name, x, want)
		}
	}
	if got.StepPS != r.Jobs[0].EndPS[0] || got.StepPS-got.ExposedPS-got.WaitPS-got.OverPS-100_000_000 > 3 {
		t.Errorf("%+v of a step that ended at %d", got, r.Jobs[0].EndPS[0])
	}
	if f, ok := headline.Find("job_7_mfu"); !ok || f.Name != "job_7_mfu" {
		t.Errorf("job_7_mfu is %+v", f)
	}
}

// Makespan and slowdown follow from the messages; here by the definition, apart from the code.
func TestByDefinition(t *testing.T) {
	r := runOf(t, incast)
	values := headline.Of(r, metrics.Summarise(r))
	last, slowest := 0.0, 0.0
	for i := range r.Messages {
		m := &r.Messages[i]
		last = max(last, float64(m.StartPS+m.CompletionPS))
		slowest = max(slowest, float64(m.CompletionPS)/float64(m.IdealPS))
	}
	if x, _ := values.Get("makespan_ps"); x != last || last == 0 { // all are posted at 0
		t.Errorf("makespan %v, want %v", x, last)
	}
	if x, _ := values.Get("slowdown_max"); x > slowest || x < slowest-0.001 || x < 2 { // in thousandths, rounded down
		t.Errorf("largest slowdown %v, want %v", x, slowest)
	}
}

func TestFind(t *testing.T) {
	for name, want := range map[string]string{"p99 slowdown": "slowdown_p99", "P99  Slowdown": "slowdown_p99", "completion_p99_ps": "completion_p99_ps",
		"p99": "completion_p99_ps", "busbw": "collective_0_busbw_gbyte_s", "goodput": "goodput_bps", "drops": "dropped"} {
		if f, ok := headline.Find(name); !ok || f.Name != want {
			t.Errorf("%q means %q, %v; want %q", name, f.Name, ok, want)
		}
	}
	if f, ok := headline.Find("p98"); ok {
		t.Errorf("p98 means %s", f.Name)
	}
	seen := map[string]bool{}
	for _, f := range headline.Figures() {
		if seen[f.Name] || seen[f.Title] || f.Name == "" || f.Title == "" {
			t.Errorf("%+v is there twice or has no name", f)
		}
		seen[f.Name], seen[f.Title] = true, true
	}
}

func TestOfCompleted(t *testing.T) {
	for name, want := range map[string]bool{"p99": true, "p50 slowdown": true, "RPC p99": true, "goodput": false,
		"open": false, "completed": false, "makespan": false} {
		if f, ok := headline.Find(name); !ok || f.OfCompleted() != want {
			t.Errorf("%s: %v", name, !want)
		}
	}
}
