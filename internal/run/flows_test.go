package run

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// flowRun runs a scenario at flow level.
func flowRun(t *testing.T, text string, set ...string) *record.Run {
	t.Helper()
	return levelRun(t, LevelFlow, text, set...)
}

func levelRun(t *testing.T, level Level, text string, set ...string) *record.Run {
	t.Helper()
	r, _, err := Do(context.Background(), Options{Scenario: "x", Text: []byte(text), Set: set, Workers: 1, Level: level})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// makespan is when the last message was complete.
func makespan(r *record.Run) (at units.Time) {
	for i := range r.Messages {
		at = max(at, r.Messages[i].StartPS+r.Messages[i].CompletionPS)
	}
	return at
}

const flowPermutation = `
topology: {leaf_spine: {leaves: 8, spines: 8, hosts_per_leaf: 16, host_link: 400Gbps, uplink: 800Gbps}}
workload: [{permutation: {size: 8MB}}]
`

// What the level says of its error is what is measured; docs/scale.md has all of the table.
func TestFlowErrors(t *testing.T) {
	stacks := []string{"rocev2-pfc-only", "rocev2"}
	if testing.Short() {
		stacks = stacks[:1]
	}
	for _, stack := range stacks {
		f, p := flowRun(t, flowPermutation, "stack="+stack), levelRun(t, LevelPackets, flowPermutation, "stack="+stack)
		got := 100 * (float64(makespan(f))/float64(makespan(p)) - 1)
		sum := 0.0
		for i := range f.Messages {
			sum += math.Abs(float64(f.Messages[i].CompletionPS)/float64(p.Messages[i].CompletionPS) - 1)
		}
		mean := 100 * sum / float64(len(f.Messages))
		said := f.Level.Errors[0]
		if said.Stack != stack || math.Abs(said.Percent-got) > .5 || math.Abs(said.Message-mean) > .5 {
			t.Errorf("%s: %.2f %% and %.2f %% of messages, and it says %+v", stack, got, mean, said)
		}
		if stack != "rocev2" && math.Abs(got) > 2 {
			t.Errorf("%s: %.2f %% off, more than 2", stack, got)
		}
	}
}

// A message alone takes what packets take, to the picosecond and one more.
func TestFlowAlone(t *testing.T) {
	const text = `
topology: {leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 2, host_link: 100Gbps, uplink: 200Gbps}}
noise: off
workload:
  - flow: {from: h0, to: h3, size: %s, verb: %s}
`
	for _, size := range []string{"0B", "1B", "4096B", "4097B", "1MB"} {
		for _, verb := range []string{"write", "send", "read"} {
			if size == "0B" && verb == "read" {
				continue
			}
			x := fmt.Sprintf(text, size, verb)
			f, p := flowRun(t, x).Messages[0], levelRun(t, LevelPackets, x).Messages[0]
			if d := f.CompletionPS - p.CompletionPS; d < -1 || d > 1 {
				t.Errorf("%s of %s: %v, packets take %v", verb, size, f.CompletionPS, p.CompletionPS)
			}
		}
	}
}

// Senders to one receiver share its link: the last is done when that has carried all of their frames.
func TestFlowIncast(t *testing.T) {
	r := flowRun(t, `
topology: {star: {hosts: 9, link: 100Gbps}}
stack: rocev2-pfc-only
noise: off
workload: [{incast: {to: h8, size: 4096000B}}]
`)
	// 1000 packets of 4096 bytes, each with 58 bytes of headers and 24 of preamble, FCS and gap around: see
	// frame_header_bytes and wire_overhead_bytes of the result. Each sender is acknowledged on links of its own.
	wire := units.Bytes(1000*(4096+r.FrameHeader+r.WireOverhead) + r.RETH)
	want := (100 * units.Gbps).TxTimeLong(8 * wire)
	if got := makespan(r); got < want || got > want+5*units.Microsecond {
		t.Errorf("done at %v, want %v and a way of some microseconds", got, want)
	}
}

// A ring AllReduce moves 2(n-1)/n of its size over each link (Patarasuk and Yuan, JPDC 2009).
func TestFlowRing(t *testing.T) {
	const n = 8
	for _, records := range []string{"messages", "sums"} {
		r := flowRun(t, `
topology: {star: {hosts: 8, link: 400Gbps}}
stack: rocev2-pfc-only
noise: off
workload: [{collective: {op: allreduce, size: 256MiB, algorithm: ring, protocol: simple, records: `+records+`}}]
`)
		payload := units.Bytes(2*(n-1)) * 256 * units.MiB / n
		share := 4096 / float64(4096+r.FrameHeader+r.WireOverhead)
		least := units.Time(float64((400 * units.Gbps).TxTimeLong(payload)) / share)
		took := r.Collectives[0].TookPS()
		// Acknowledgements of the neighbour take 84 bytes of every 4178 as well.
		if took < least || float64(took) > 1.03*float64(least) {
			t.Errorf("records %s: %v, want %v and up to 3 %% for acknowledgements and the pipeline", records, took, least)
		}
	}
}

// Messages of nothing, and chains of them, end.
func TestFlowCorners(t *testing.T) {
	r := flowRun(t, `
topology: {star: {hosts: 3, link: 100Gbps}}
workload:
  - flow: {from: h0, to: h1, size: 0B, count: 3}
  - rpc: {between: [h1, h2], request: 1B, reply: 1MB, think: 3us, count: 2, every: 1us}
  - flow: {from: h0, to: h2, verb: fetch-add, count: 2, start: 1ms}
`)
	if r.Stopped != "quiescence" || r.OpenMessages != 0 {
		t.Errorf("%s with %d open messages", r.Stopped, r.OpenMessages)
	}
	for i := range r.Messages {
		if m := &r.Messages[i]; m.CompletionPS <= 0 || m.CompletionPS > units.Millisecond {
			t.Errorf("message %d of %d bytes takes %v", i, m.Bytes, m.CompletionPS)
		}
	}
}

// A job's communicator of one rank costs nothing; the step is that of packets.
func TestFlowJob(t *testing.T) {
	const text = `
topology: {rail: {servers: 2, rails: 8, link: 200Gbps}}
server: dgx-a100
jobs:
  - name: step
    ranks: gpus
    model: {layers: 2, hidden: 2048, heads: 16, sequence: 1024, vocabulary: 8000, tp: %d, pp: 2, micro_batch: 1, batch: %d, overlap: off}
`
	for _, tp := range []int{1, 4} {
		if tp == 1 && testing.Short() {
			continue
		}
		x := fmt.Sprintf(text, tp, 16/tp)
		f, p := flowRun(t, x).Jobs[0], levelRun(t, LevelPackets, x).Jobs[0]
		if off := float64(f.EndPS[0])/float64(p.EndPS[0]) - 1; math.Abs(off) > .02 {
			t.Errorf("tp %d: the step ends at %v, with packets at %v", tp, f.EndPS[0], p.EndPS[0])
		}
		for rank := range f.Ranks {
			var sum units.Time
			for _, x := range f.Times {
				if x.Rank == rank {
					sum += x.TimePS
				}
			}
			if sum != f.EndPS[0]-f.StartPS {
				t.Errorf("tp %d: the times of rank %d add up to %v, the step takes %v", tp, rank, sum, f.EndPS[0])
			}
		}
	}
}

// What flows have no answer to is refused before the run.
func TestFlowRefusals(t *testing.T) {
	const text = `
topology: {star: {hosts: 3, link: 100Gbps}}
workload: [{flow: {from: h0, to: h1, size: 1MB}}]
`
	for set, want := range map[string]string{
		"topology.star.loss=0.01":     "loses packets",
		"carry_data=true":             "bring bytes",
		"workload[0].flow.receives=1": "",
	} {
		_, _, err := Do(context.Background(), Options{Scenario: "x", Text: []byte(text), Set: []string{set}, Workers: 1,
			Level: LevelFlow})
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), "--level packets")) {
			t.Errorf("%s: %v, want %q", set, err, want)
		}
	}
}
