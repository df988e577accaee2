package run_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/hopscope/hopscope/internal/build"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/rng"
	"github.com/hopscope/hopscope/internal/run"
	"github.com/hopscope/hopscope/internal/scenario"
	"github.com/hopscope/hopscope/internal/server"
	"github.com/hopscope/hopscope/internal/units"
)

// drawTurns is a random scenario of collectives over the GPUs of servers, beside flows
// from and to their memories, copies that staging makes, and one another.
func drawTurns(seed uint64) string {
	g := &generator{Stream: rng.New(seed, "turns")}
	servers, rails := g.between(1, 3), g.pickInt(1, 2, 4, 8)
	hosts := max(servers, 2)
	g.line("name: turns-%d\nstack: %s", seed, g.pick("rocev2", "rocev2", "infiniband", "rocev2-none"))
	g.line("topology: {rail: {servers: %d, rails: %d, link: %s}}", hosts, rails, g.pick("100Gbps", "200Gbps", "400Gbps"))
	g.line("server: %s", g.pick("dgx-h100", "hgx-a100", "dgx-a100", "dgx-b200"))
	if g.one(4) {
		g.line("stop: %dns", g.between(5_000, 120_000))
	}
	g.line("workload:")
	for range g.between(1, 3) {
		ranks := g.pick("all", fmt.Sprintf("[h%d/gpus]", g.IntN(servers)), "[h0/gpu1, h0/gpu0, h0/gpu5]")
		op := g.pick("allreduce", "allreduce", "allgather", "reducescatter", "alltoall", "broadcast", "sendrecv")
		size := g.pick("48KiB", "384KiB", "1536KiB", "3MiB", "6MiB")
		if ranks == "all" || op == "alltoall" {
			size = g.pick("48KiB", "384KiB", "1536KiB")
		}
		g.line("  - collective: {op: %s, ranks: %s, size: %s, start: %dps, protocol: %s, channels: %d%s%s}", op, ranks, size,
			g.IntN(40_000_000)*g.IntN(2), g.pick("auto", "simple", "ll", "ll128"), g.pickInt(1, 2, 5, 16, 24),
			g.pick("", "", ", gpudirect: off"), g.pick("", ", chunk: 20000B", ", costs: {launch: 0s, poll: 0s, load: 0s, barrier: 0s, fence: 0s, flag: 0s}"))
	}
	for range g.IntN(4) {
		from, to, rail := g.IntN(hosts), g.IntN(hosts), g.between(1, rails)
		if from != to {
			g.line("  - incast: {from: [\"h%d:%d/gpu%d\"], to: \"h%d:%d/gpu%d\", size: %dB, start: %dns}", from, rail, g.IntN(8), to, rail, g.IntN(8),
				g.between(1, 400_000), g.IntN(60_000))
		}
	}
	return g.b.String()
}

// Turns of thread blocks that are taken together change nothing: the result is, byte for
// byte, that of one event for each, on any number of partitions, and where a run is cut
// off too. HOPSCOPE_LONG=1 draws 500.
func TestTurnsTogetherAreTurnsApart(t *testing.T) {
	seeds := uint64(25)
	if os.Getenv("HOPSCOPE_LONG") != "" {
		seeds = 500
	}
	var apart, together, waited, messages, cut int64
	for seed := range seeds {
		text := drawTurns(seed)
		v, err := scenario.Parse("turns.yaml", []byte(text), nil, nil)
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, text)
		}
		if seed%2 == 1 {
			roundTimes(v)
		}
		w, err := build.New(v, build.Options{Partitions: 1, Singly: true})
		if err != nil {
			t.Fatal(err)
		}
		want := run.Simulate(context.Background(), w, run.Options{Workers: 1})
		parts := 1 + int(seed%3)
		got := simulate(t, v, parts, 1)
		if bad := differ(t, want, got); bad != "" {
			t.Fatalf("seed %d, %d partitions: turns together differ: %s\n%s", seed, parts, bad, text)
		}
		apart, together = apart+want.Events, together+got.Events
		waited += waitedOnNVLink(want)
		messages += int64(len(want.Messages))
		if want.Stopped == "stop time" {
			cut++
		}
	}
	// Else the scenarios have become too tame to tell.
	if together*10 > apart*8 || waited == 0 || messages == 0 || cut == 0 {
		t.Errorf("%d events apart, %d together, %d ps waited, %d messages, %d cut off", apart, together, waited, messages, cut)
	}
	t.Logf("%d events apart, %d together, %d ps waited, %d messages, %d cut off", apart, together, waited, messages, cut)
}

// roundTimes gives a scenario links inside its servers, and blocks, whose times are whole
// nanoseconds, so that turns often come at the very time of one another and of what cards
// read and write.
func roundTimes(v *scenario.Valid) {
	for node := range v.NICs {
		t := v.NICs[node].Server
		if t == nil {
			continue
		}
		own := *t
		own.Links = slices.Clone(t.Links)
		for i := range own.Links {
			l := &own.Links[i]
			l.Latency -= l.Latency % units.Nanosecond
			if l.Kind == server.NVLink || l.Kind == server.HBM {
				l.Rate = 32768 * units.Gbps / 8 // a turn in 8 ns
			}
		}
		v.NICs[node].Server = &own
	}
	for i := range v.Plan.Locals {
		v.Plan.Locals[i].Work = 0
	}
}

// waitedOnNVLink is how long turns waited for each other.
func waitedOnNVLink(r *record.Run) (sum int64) {
	for i := range r.Servers {
		for k := range r.Servers[i].Links {
			if l := &r.Servers[i].Links[k]; len(l.Kind) >= 6 && l.Kind[:6] == "NVLink" {
				sum += int64(l.WaitedPS)
			}
		}
	}
	return sum
}
