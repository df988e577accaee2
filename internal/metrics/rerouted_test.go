package metrics_test

import (
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/record"
)

func answerTo(r *record.Run, q catalog.Question) *metrics.Answer {
	all := metrics.Summarise(r).Answers
	for i := range all {
		if all[i].Question == q {
			return &all[i]
		}
	}
	return nil
}

// Packets that take any of four spines go another way than by hash three times of four, and no
// sentence says that one port feeds a queue.
func TestSprayedIsRerouted(t *testing.T) {
	const text = `
name: sprayed
routing: spray
topology: {leaf_spine: {leaves: 2, spines: 4, hosts_per_leaf: 4, link: 100Gbps}}
workload:
  - {flow: {from: h0, to: h4, size: 4MB}}
  - {flow: {from: h1, to: h5, size: 4MB}}
`
	for routing, mechanism := range map[string]catalog.Mechanism{"spray": catalog.Spraying, "adaptive": catalog.Adaptive} {
		r := simulate(t, text, "routing="+routing)
		a := answerTo(r, catalog.Rerouted)
		if !a.Happened || len(a.Mechanisms) != 1 || a.Mechanisms[0].Mechanism != mechanism || a.First.TimePS > 2_000_000 {
			t.Fatalf("%s: %+v", routing, a)
		}
		sent := int64(0)
		for i := range r.QPs {
			sent += r.QPs[i].SentPackets
		}
		if routing == "spray" && (a.Count < sent*6/10 || a.Count > sent*2) { // ACKs count, too
			t.Errorf("%d of %d packets and their ACKs", a.Count, sent)
		}
		if held := answerTo(r, catalog.Held); strings.Contains(held.Why, "feeds") {
			t.Errorf("%s: %q", routing, held.Why)
		}
	}
	if a := answerTo(simulate(t, text, "routing=ecmp"), catalog.Rerouted); a.Happened {
		t.Errorf("by hash: %+v", a)
	}
}

// A timer that is shorter than a pause sends again what waits: nothing was lost. With drops
// something was.
func TestRecoveredInVain(t *testing.T) {
	const text = `
name: in vain
stack: rocev2-pfc-only
topology: {star: {hosts: 3, link: 100Gbps}}
nic: {timeout: 4}
hosts: {h2: {drain_rate: 1Gbps}}
workload: [{incast: {from: [h0, h1], to: h2, size: 4MB}}]
`
	const vain = "nothing was lost: all of that was sent in vain"
	if a := answerTo(simulate(t, text), catalog.Recovered); !a.Happened || a.Why != vain {
		t.Errorf("%+v", a)
	}
	if a := answerTo(simulate(t, text, "stack=rocev2-none"), catalog.Recovered); !a.Happened || a.Why != "" {
		t.Errorf("with drops: %+v", a)
	}
}
