package run_test

import (
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/scenario"
	"github.com/hopscope/hopscope/internal/units"
)

func parsed(t *testing.T, text string, seed *uint64) *scenario.Valid {
	t.Helper()
	v, err := scenario.Parse("s.yaml", []byte(text), nil, seed)
	if err != nil {
		t.Fatalf("%s\n%v", text, err)
	}
	return v
}

// Two jobs that share one way between leaves: each is run alone, which takes what it takes in a scenario without the
// other, and the verdict names the other one, the port and the bytes.
func TestJobsAlone(t *testing.T) {
	const net = "noise: off\nstack: rocev2-pfc-only\ntopology: {leaf_spine: {leaves: 2, hosts_per_leaf: 2, spines: 1, host_link: 100Gbps, uplink: 100Gbps}}\njobs:\n"
	const work = "communicators: {dp: {size: 2}}, steps: 2, operations: [{compute: {time: 100us}}, {allreduce: {on: dp, size: 4MB, after: compute}}]}\n"
	a, b := "- {name: A, ranks: [h0, h2], "+work, "- {name: B, ranks: [h1, h3], "+work
	both, one := runOf(t, parsed(t, net+a+b, nil)), runOf(t, parsed(t, net+a, nil))
	checkJob(t, both)
	j := &both.Jobs[0]
	if j.AlonePS != one.Jobs[0].StepPS() || j.StepPS() < j.AlonePS*14/10 || one.Jobs[0].AlonePS != 0 {
		t.Errorf("a step takes %d, run alone %d, in a scenario of its own %d", j.StepPS(), j.AlonePS, one.Jobs[0].StepPS())
	}
	v := metrics.Summarise(both).Verdict
	if v == nil || v.Kind != catalog.VerdictJobs || !strings.HasPrefix(v.Text, "B fills leaf") ||
		!strings.Contains(v.Text, "8.00 MB of B through leaf1:") {
		t.Errorf("verdict %+v", v)
	}
	if c := metrics.JobCauseOf(both, 0); c.Hold != metrics.HoldOthers || len(c.By) != 1 || c.By[0] != "B" {
		t.Errorf("cause %+v", c)
	}
	// At other times they are not in each other's way, and nothing is run alone.
	apart := runOf(t, parsed(t, net+a+strings.Replace(b, "steps", "start: 5ms, steps", 1), nil))
	if apart.Jobs[0].StepPS() != one.Jobs[0].StepPS() || apart.Jobs[1].StartPS != 5*units.Millisecond {
		t.Errorf("apart %d, alone %d", apart.Jobs[0].StepPS(), one.Jobs[0].StepPS())
	}
}

// A slow rank takes its factor, and the others wait for it: named. Jitter varies around the time, is the same with the
// same seed, and of a rank that computes alone has the standard deviation that was asked for.
func TestSlowRanks(t *testing.T) {
	const job = "network: ideal, communicators: {dp: {size: 4}}, operations: [{compute: {time: 1ms}}, {allreduce: {on: dp, size: 1MB, after: compute}}]}]\n"
	const net = "topology: {star: {hosts: 2, link: 100Gbps}}\nserver: dgx-h100\njobs: [{ranks: [h0/gpu0, h0/gpu1, h0/gpu2, h0/gpu3], "
	slow := runOf(t, parsed(t, net+"slow: {2: 1.5}, steps: 3, "+job, nil))
	checkJob(t, slow)
	if got := slow.Jobs[0].StepPS(); got != 1500*units.Microsecond {
		t.Errorf("a step takes %d", got)
	}
	if c := metrics.JobCauseOf(slow, 0); c.Hold != metrics.HoldSlowRank || c.Rank != 2 {
		t.Errorf("cause %+v", c)
	}
	end := func(seed uint64, steps string) units.Time {
		r := runOf(t, parsed(t, net+"jitter: 10%, steps: "+steps+", "+job, &seed))
		checkJob(t, r)
		return r.Jobs[0].StepPS()
	}
	if a, b, c := end(1, "40"), end(1, "40"), end(2, "40"); a != b || a == c {
		t.Errorf("steps of %d, %d and %d", a, b, c)
	}
	// The largest of four normal draws is 1.029 standard deviations above the mean.
	if got := float64(end(3, "400")) / 1e9; got < 1.085 || got > 1.12 {
		t.Errorf("a step takes %.3f ms", got)
	}
}

// A job that cannot go on says where its ranks are, and for whom they wait.
func TestJobOpen(t *testing.T) {
	const text = "noise: off\ntopology: {hosts: [h0, h1], switches: [s], links: [{between: [h0, s], rate: 100Gbps}, " +
		"{between: [s, h1], rate: 100Gbps, down_at: 150us}]}\nnic: {timeout: 8, retry: 2}\njobs: [{ranks: [h0, h1], " +
		"communicators: {dp: {size: 2}}, operations: [{compute: {time: 100us}}, {allreduce: {on: dp, size: 4MB, after: compute}}, " +
		"{send: {to: 1, size: 1MB, ranks: 0, after: allreduce}}, {recv: {from: 0, size: 1MB, ranks: 1}}]}]\n"
	r := runOf(t, parsed(t, text, nil))
	open := r.Jobs[0].Open
	if r.Stopped != "stalled" || len(open) != 3 {
		t.Fatalf("stopped by %s: %+v", r.Stopped, open)
	}
	for i, want := range []record.JobOpen{{Rank: 0, Operation: "allreduce", SincePS: 100 * units.Microsecond, Awaits: -1},
		{Rank: 1, Operation: "allreduce", SincePS: 100 * units.Microsecond, Awaits: -1}, {Rank: 1, Operation: "recv", Awaits: 0}} {
		if open[i] != want {
			t.Errorf("%+v, want %+v", open[i], want)
		}
	}
}
