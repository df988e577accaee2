package run_test

import (
	"fmt"
	"testing"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/rng"
	"github.com/hopscope/hopscope/internal/scenario"
	"github.com/hopscope/hopscope/internal/units"
)

// TestOpenAccountsTile cuts runs off at random instants. The account of a message that is open then adds up to its
// time so far, however the network is divided, and as a simulation cannot know that it will be cut off, no stage of
// a requester's own lasted longer by then than in the run as a whole.
func TestOpenAccountsTile(t *testing.T) {
	t.Parallel()
	seen := map[string]int{}
	kinds := []struct {
		name string
		draw func(seed uint64) string
	}{
		{"queue pairs", func(seed uint64) string { return drawScenario(seed).text }},
		{"failing queue pairs", harsh},
		{"READs", func(uint64) string { return lossyReadsText }},
		{"TCP", func(seed uint64) string { return drawStreams(seed).text }},
		{"a slow receiver", func(seed uint64) string { return slowReceiverText }},
		{"InfiniBand", func(seed uint64) string { return drawInfiniBand(seed).text }},
	}
	for _, kind := range kinds {
		for seed := range draws(4, 12) {
			v, err := scenario.Parse("open.yaml", []byte(kind.draw(seed)), nil, nil)
			if err != nil || v.MeasureFrom != units.Never {
				continue
			}
			mixVerbs(v, seed)
			whole := simulate(t, v, 1, 1)
			g := rng.New(seed, "cut "+kind.name)
			first := whole.FirstPost()
			v.Stop = first + units.Time(g.IntN(int(max(whole.EndPS-first, 1))))
			cut := simulate(t, v, 1, 1)
			if d := differ(t, cut, simulate(t, v, 2+int(seed%6), 2)); d != "" {
				t.Fatalf("%s, seed %d, stopped at %d ps: partitions matter: %s", kind.name, seed, v.Stop, d)
			}
			for i := range cut.Messages {
				why := accountWrong(cut, i)
				if f := &cut.Messages[i]; why == "" && f.Status == "open" {
					why = longerThan(f, &whole.Messages[i])
					for _, s := range f.Account.Stages() {
						seen[s.Stage.String()]++
					}
				}
				if why != "" {
					t.Fatalf("%s, seed %d, stopped at %d ps, message %d: %s\n%v\n%v", kind.name, seed, v.Stop, i, why,
						cut.Messages[i].Account.Stages(), whole.Messages[i].Account.Stages())
				}
			}
		}
	}
	for _, what := range []string{"sending", "rate", "paused", "no credits", "behind earlier work", "queue", "response sending",
		"congestion window", "window"} {
		if seen[what] == 0 && !testing.Short() {
			t.Errorf("no open message with %q", what)
		}
	}
	t.Log(seen)
}

// slowReceiverText is an incast to a host that takes little, behind which messages to others wait paused.
const slowReceiverText = `
topology: {star: {hosts: 4, link: 100Gbps}}
stack: rocev2-pfc-only
switch: {buffer: 1MB}
hosts: {h3: {drain_rate: 5Gbps}}
workload: [incast: {to: h3, size: 500KB}, flow: {from: h0, to: h1, size: 500KB}]
`

// longerThan says which stage of a message's own queue pair took longer in a run that was cut off than in the whole;
// nothing if none did. Where something was lost, what is known of a wait only afterwards is not compared, nor are READs:
// of one that is asked for in parts all but the first request counts, in the end, as the responder's time.
func longerThan(cut, whole *record.Message) string {
	if whole.Status != "success" {
		return ""
	}
	took := map[catalog.Stage]units.Time{}
	for _, s := range whole.Account.Stages() {
		if s.Stage.Is(catalog.Repeats) || whole.Verb == "READ" {
			return ""
		}
		took[s.Stage] += s.Time
	}
	for _, s := range cut.Account.Stages() {
		if s.Stage.Is(catalog.Own) && s.Stage.Leg() == catalog.LegThere {
			if took[s.Stage] -= s.Time; took[s.Stage] < 0 {
				return fmt.Sprintf("%s lasted %d ps longer than in the whole run", s.Stage, -took[s.Stage])
			}
		}
	}
	return ""
}
