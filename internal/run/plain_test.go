package run_test

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
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
	{regexp.MustCompile("(?m)^failover: .*$"), ""},
}

// drawPlain is a random scenario of the other properties. They have every feature that
// sends a port to the slow path, all at once as a rule; here most lack most of them, so
// that there is something to compare.
func drawPlain(seed uint64) string {
	g := &generator{Stream: rng.New(seed, "plain path")}
	switch g.IntN(16) {
	case 0:
		return drawCredits(seed)
	case 1:
		return drawStreams(seed).text
	}
	text := g.pinned(g.sparse(drawScenario(seed).text))
	if g.one(8) {
		text += "time_quantum: 1ns\n"
	}
	return text
}

// sparse is a scenario that lacks most of what sends a port to the slow path, and perhaps
// has one such thing that random scenarios hardly ever have alone.
func (g *generator) sparse(text string) string {
	for _, s := range slowing {
		if !g.one(8) {
			text = s.what.ReplaceAllString(text, s.plain)
		}
	}
	switch g.IntN(8) {
	case 0:
		text = hostLink.ReplaceAllString(text, "$1, ber: 1e-7}")
	case 1:
		if !strings.Contains(text, "routing:") && !strings.Contains(text, "down_at") {
			text += "routing: " + g.pick("spray", "adaptive") + "\n"
		}
	}
	return text
}

var (
	hostLink  = regexp.MustCompile(`(host_link: \{[^}]*?)(, (loss|ber|drop_every): [0-9.e-]+)?\}`)
	leafSpine = regexp.MustCompile(`leaf_spine: \{leaves: (\d+), spines: (\d+), hosts_per_leaf: (\d+)`)
	vls       = regexp.MustCompile(`(?m)^  vls: (\d)$`)
	every     = regexp.MustCompile(`count: \d+, every: \d+ns`)
	large     = regexp.MustCompile(`size: \d{6}B`)
)

// pinned gives a scenario of leaves and spines messages whose routes are pinned, there and
// back, among the others.
func (g *generator) pinned(text string) string {
	m := leafSpine.FindStringSubmatch(text)
	if m == nil || g.one(3) {
		return text
	}
	number := func(s string) int { n, _ := strconv.Atoi(s); return n }
	leaves, spines, per := number(m[1]), number(m[2]), number(m[3])
	more := ""
	for h := range leaves {
		from, to := h*per, (h+1)%leaves*per
		more += fmt.Sprintf("  - flow: {from: h%d, to: h%d, size: %dB, class: 3, path: [h%d, leaf%d, spine%d, leaf%d, h%d]}\n",
			from, to, g.size(), from, h+1, g.between(1, spines), (h+1)%leaves+1, to)
	}
	return strings.Replace(text, "workload:\n", "workload:\n"+more, 1)
}

// drawCredits is a random InfiniBand scenario, most of them with less to send than links
// carry, so that a frame finds its port idle; some map service levels to other lanes, and
// some discard what stands at the head of a queue for long.
func drawCredits(seed uint64) string {
	g := &generator{Stream: rng.New(seed, "credits")}
	text := g.pinned(g.sparse(drawInfiniBand(seed).text))
	if !g.one(10) {
		text = large.ReplaceAllStringFunc(text, func(string) string { return fmt.Sprintf("size: %dB", g.between(2000, 9000)) })
		text = every.ReplaceAllStringFunc(text, func(string) string {
			return fmt.Sprintf("count: %d, every: %dns", g.between(3, 12), g.between(10000, 60000))
		})
	}
	return vls.ReplaceAllStringFunc(text, func(line string) string {
		lanes := int(line[len(line)-1] - '0')
		if g.one(2) {
			var of []string
			for range 16 {
				of = append(of, strconv.Itoa(g.IntN(lanes)))
			}
			line += "\n  sl2vl: \"" + strings.Join(of, ",") + "\""
		}
		if g.one(10) {
			line += fmt.Sprintf("\n  hoq_life: %d", g.between(0, 6))
		}
		return line
	})
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
		for _, what := range []string{"cut-through", "at: enqueue", "routing: spray", "routing: adaptive", "path:", "links:", "loss:", "ber:", "drop_every:", "pfc: none", "alpha:", "xoff:",
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
	for _, what := range []string{"ber:", "routing: spray", "routing: adaptive", "path:"} {
		if seen[what] == 0 && !raced {
			t.Errorf("no network has %s", what)
		}
	}
}

// TestPlainCredits: the same where links have credits and a frame may find its port idle.
func TestPlainCredits(t *testing.T) {
	t.Parallel()
	var plain, all int64
	seen := map[string]int{}
	for seed := range min(draws(20, 20), 100) {
		text := drawCredits(seed)
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
		for _, what := range []string{"sl2vl", "hoq_life", "ber:", "routing:", "path:", "cut-through"} {
			if strings.Contains(text, what) {
				seen[what]++
			}
		}
	}
	t.Logf("%d of %d hops on the plain path; %v", plain, all, seen)
	if plain*4 < all {
		t.Errorf("%d of %d hops took the plain path; too few to tell", plain, all)
	}
	for _, what := range []string{"sl2vl", "hoq_life", "ber:", "routing:", "path:"} {
		if seen[what] == 0 && !raced {
			t.Errorf("no network has %s", what)
		}
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
