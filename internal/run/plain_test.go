package run_test

import (
	"context"
	"regexp"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/build"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/rng"
	"github.com/hopscope/hopscope/internal/run"
	"github.com/hopscope/hopscope/internal/scenario"
)

// slowing are what sends the ports of a random scenario to the slow path, and what plain
// ones have instead.
var slowing = []struct {
	what  *regexp.Regexp
	plain string
}{
	{regexp.MustCompile("cut-through"), "store-and-forward"},
	{regexp.MustCompile("at: enqueue"), "at: dequeue"},
	{regexp.MustCompile("routing: (adaptive|spray)"), ""},
	{regexp.MustCompile(", (loss|ber|drop_every): [0-9.e-]+"), ""},
	{regexp.MustCompile(`, links: \[.*\]`), ""},
}

// drawPlain is a random scenario of the other properties. They have every feature that
// sends a port to the slow path, all at once as a rule; here most lack most of them, so
// that there is something to compare.
func drawPlain(seed uint64) string {
	g := &generator{Stream: rng.New(seed, "plain")}
	switch g.IntN(16) {
	case 0:
		return drawInfiniBand(seed).text
	case 1:
		return drawStreams(seed).text
	}
	text := drawScenario(seed).text
	for _, s := range slowing {
		if !g.one(6) {
			text = s.what.ReplaceAllString(text, s.plain)
		}
	}
	if g.one(8) {
		text += "time_quantum: 1ns\n"
	}
	return text
}

// TestPlainPath: the plain path of switches leaves the same records, byte for byte, as the
// slow path, which every port takes without it.
func TestPlainPath(t *testing.T) {
	t.Parallel()
	seeds := draws(25, 25)
	if seeds > 25 {
		seeds = 300
	}
	var plain, all int64
	seen := map[string]int{}
	for seed := range seeds {
		text := drawPlain(seed)
		v, err := scenario.Parse("plain.yaml", []byte(text), memories(seed), nil)
		if err != nil { // InfiniBand, or a buffer too small for cells
			v, err = scenario.Parse("plain.yaml", []byte(text), nil, nil)
		}
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, text)
		}
		slow, none := simulatePath(t, v, 1, true)
		fast, hops := simulatePath(t, v, 1+int(seed%4), false)
		if bad := differ(t, slow, fast); bad != "" {
			t.Errorf("seed %d: the plain path gives another result: %s\n%s", seed, bad, text)
		}
		if none != 0 {
			t.Fatalf("seed %d: %d hops on the plain path where all ports are slow", seed, none)
		}
		plain += hops
		all += fast.PacketHops
		for _, what := range []string{"cut-through", "at: enqueue", "routing:", "links:", "loss:", "ber:", "drop_every:", "pfc: none", "alpha:", "xoff:",
			"strict:", "drain_rate", "carry_data", "hoq_life", "sl2vl", "measure:", "stop:", "response:", "quanta:", "time_quantum", "56Gbps"} {
			if strings.Contains(text, what) {
				seen[what]++
			}
		}
		for i := range fast.Ports {
			seen["marks"] += int(fast.Ports[i].Marked)
			seen["pauses"] += int(fast.Ports[i].PausesSent)
			seen["drops"] += int(fast.Ports[i].Dropped)
			for _, d := range fast.Ports[i].DropCauses {
				seen[d.Cause.String()] += int(d.Count)
			}
		}
	}
	t.Logf("%d of %d hops on the plain path; %v", plain, all, seen)
	if plain*3 < all {
		t.Errorf("%d of %d hops took the plain path; too few to tell", plain, all)
	}
}

// TestPlainCredits: the same where links have credits and a frame may find its port idle.
func TestPlainCredits(t *testing.T) {
	t.Parallel()
	var plain, all int64
	for seed := range min(draws(12, 12), 100) {
		text := drawInfiniBand(seed).text
		v, err := scenario.Parse("credits.yaml", []byte(text), nil, nil)
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, text)
		}
		slow, _ := simulatePath(t, v, 1, true)
		fast, hops := simulatePath(t, v, 1+int(seed%4), false)
		if bad := differ(t, slow, fast); bad != "" {
			t.Errorf("seed %d: the plain path gives another result: %s\n%s", seed, bad, text)
		}
		plain += hops
		all += fast.PacketHops
	}
	t.Logf("%d of %d hops on the plain path", plain, all)
	if plain*20 < all { // the networks are small and full, so that few frames find a port idle
		t.Errorf("%d of %d hops took the plain path; too few to tell", plain, all)
	}
}

// memories gives some networks a memory of cells and parts, and packets that WRED drops.
func memories(seed uint64) (set []string) {
	switch seed % 4 {
	case 0:
		set = []string{"switch.memory.cell=208B"}
	case 1:
		set = []string{"switch.memory={cell: 254B, parts: 2}"}
	}
	if seed%3 == 0 {
		set = append(set, "switch.ecn={kmin: 2KB, kmax: 60KB, pmax: 0.5, priorities: [0, 1, 2, 3, 4, 5, 6, 7]}", "nic.ack_class=1")
	}
	return set
}

// simulatePath runs v and counts the hops that took the plain path.
func simulatePath(t *testing.T, v *scenario.Valid, parts int, slow bool) (r *record.Run, plain int64) {
	t.Helper()
	w, err := build.New(v, build.Options{Partitions: parts, Slow: slow})
	if err != nil {
		t.Fatal(err)
	}
	r = run.Simulate(context.Background(), w, run.Options{Workers: 1})
	for _, n := range w.Nets {
		plain += n.PlainHops()
	}
	return r, plain
}
