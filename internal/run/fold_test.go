package run

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/record"
)

// leveled is the result of a scenario as JSON, without what it says of its level, and that.
func leveled(t *testing.T, text string, level Level, workers int) (string, *record.Level) {
	t.Helper()
	r, _, err := Do(t.Context(), Options{Scenario: "fold.yaml", Text: []byte(text), Level: level, Workers: workers})
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	said := r.Level
	r.Level = nil
	out, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(out), said
}

// same runs a scenario with all servers, and with those that stand for others, and returns whether some did,
// and what was said of it.
func same(t *testing.T, text string) (folded bool, note string) {
	t.Helper()
	all, _ := leveled(t, text, LevelPackets, 1)
	some, said := leveled(t, text, LevelExact, 2)
	if all != some {
		k := 0
		for k < min(len(all), len(some)) && all[k] == some[k] {
			k++
		}
		t.Fatalf("the results differ where servers stand for others (%s): %s and %s\n%s", said.Note,
			all[max(0, k-150):min(len(all), k+60)], some[max(0, k-150):min(len(some), k+60)], text)
	}
	return strings.Contains(said.Note, " for ") && strings.Contains(said.Note, "do the same"), said.Note
}

// TestFold holds that a run in which servers stand for others gives what a run of all gives, to the last
// bit, in random scenarios: rings over all GPUs and over those of rails, after each other and beside each other, tensor
// parallel collectives inside servers, steps of training, runs that are cut off, and measured windows.
func TestFold(t *testing.T) {
	n := 12
	switch {
	case testing.Short():
		n = 4
	case os.Getenv("HOPSCOPE_LONG") != "":
		n = 200
	}
	folds := 0
	for k := range n {
		text := foldable(rand.New(rand.NewPCG(uint64(k), 24)))
		folded, note := same(t, text)
		if folded {
			folds++
		} else {
			t.Logf("%d: %s", k, note)
		}
	}
	if folds < n/2 {
		t.Errorf("of %d scenarios %d folded", n, folds)
	}
}

// foldable is a random scenario whose servers may fold.
func foldable(r *rand.Rand) string {
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	servers := 2 + r.IntN(5)
	unit := servers * 8 * 8 * 24 * 4 // bytes that divide among ranks and channels
	var b strings.Builder
	fmt.Fprintf(&b, "name: fold\nnoise: off\ntopology: {rail: {servers: %d, rails: 8, link: %s}}\nserver: %s\n", servers,
		pick("400Gbps", "200Gbps", "100Gbps"), pick("dgx-h100", "dgx-a100"))
	if r.IntN(3) == 0 {
		fmt.Fprintf(&b, "stop: %dus\n", 60+r.IntN(200))
	} else if r.IntN(3) == 0 {
		fmt.Fprintf(&b, "measure: {from: %dus, to: %dus}\n", 20+r.IntN(40), 90+r.IntN(200))
	}
	if r.IntN(4) == 0 {
		stages := 1
		if servers == 4 && r.IntN(2) == 0 {
			stages = 2
		}
		fmt.Fprintf(&b, "jobs:\n  - name: step\n    ranks: gpus\n    model: {layers: 2, hidden: 512, heads: 8, "+
			"sequence: 128, vocabulary: 4096, tp: 8, pp: %d, micro_batch: 1, batch: %d, zero: %d, overlap: %s}\n",
			stages, servers*(1+r.IntN(2)), r.IntN(3), pick("on", "off"))
		return b.String()
	}
	b.WriteString("workload:\n")
	ring := func(format string, a ...any) {
		fmt.Fprintf(&b, "  - collective: {algorithm: ring, records: sums, "+format+"}\n", a...)
	}
	all := func(name string, start int) {
		ring("op: %s, size: %dB, protocol: %s, name: %s, start: %dus, count: %d",
			pick("allreduce", "reducescatter", "allgather"),
			unit*(1+r.IntN(3)), pick("simple", "ll", "ll128"), name, start, 1+r.IntN(2))
	}
	rails := func(start int) {
		op, size, protocol := pick("reducescatter", "allgather", "allreduce"), unit*(1+r.IntN(8)), pick("simple", "ll128")
		for g := range 1 + r.IntN(3) {
			var ranks []string
			for s := range servers {
				ranks = append(ranks, fmt.Sprintf("h%d/gpu%d", s, g))
			}
			ring("op: %s, size: %dB, protocol: %s, name: dp%d, start: %dus, ranks: [%s]", op, size, protocol, g, start,
				strings.Join(ranks, ","))
		}
	}
	switch r.IntN(3) {
	case 0:
		all("a", 0)
	case 1:
		all("a", 0)
		all("b", r.IntN(80)) // a collective arrives
	default:
		rails(r.IntN(30))
		op, size, count := pick("allgather", "allreduce"), 64*1024*(1+r.IntN(4)), 1+r.IntN(3)
		for s := range servers {
			var ranks []string
			for g := range 8 {
				ranks = append(ranks, fmt.Sprintf("h%d/gpu%d", s, g))
			}
			ring("op: %s, size: %dB, protocol: simple, name: tp%d, count: %d, ranks: [%s]", op, size, s, count,
				strings.Join(ranks, ","))
		}
	}
	return b.String()
}

// TestNoFold holds that servers that differ do not stand for each other, that the result says why, and that
// it is that of all of them.
func TestNoFold(t *testing.T) {
	for _, c := range []struct{ name, change, with, want string }{
		{"noise", "noise: off\n", "", "noise: off"},
		{"two", "servers: 4", "servers: 2", "only two"},
		{"uneven", "size: 192KiB", "size: 192004B", "chunks have different sizes"},
		{"tree", "algorithm: ring", "algorithm: tree", "is no ring"},
		{"kept", "records: sums", "records: messages", "records: sums"},
		{"flow", "workload:\n", "workload:\n  - incast: {to: h0, from: [h1], size: 10KB, start: 50us}\n", "messages beside"},
		{"fails", "link: 400Gbps}}",
			"link: 400Gbps}, links: [{between: [h0, group1-rail1], down_at: 40us, up_at: 60us}]}", "fail"},
		{"kmin", "server: dgx-h100\n", "server: dgx-h100\nswitch: {ecn: {kmin: 1KB, kmax: 2KB}}\n", "a switch marked"},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := "name: fold\nnoise: off\ntopology: {rail: {servers: 4, rails: 8, link: 400Gbps}}\nserver: dgx-h100\n" +
				"workload:\n  - collective: {op: allreduce, size: 192KiB, algorithm: ring, protocol: simple, records: sums}\n"
			changed := strings.Replace(text, c.change, c.with, 1)
			if changed == text {
				t.Fatal("nothing is changed")
			}
			if folded, note := same(t, changed); folded || !strings.Contains(note, c.want) {
				t.Errorf("%q; want one that says %q", note, c.want)
			}
		})
	}
}
