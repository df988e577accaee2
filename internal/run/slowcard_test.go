package run_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/metrics"
)

// TestSlowCardBinds: of a message that congestion control held the card that takes its data is named, and is among its
// ceilings, where it was slow all the time and the message came near its rate; not where a port binds before the card.
func TestSlowCardBinds(t *testing.T) {
	const text = `
stack: rocev2
topology: {leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 4, link: 100Gbps}}
hosts: {h5: {faults: [{slow: {TIMES, rate: RATE}}]}}
workload:
  - flows: {name: p, size: 10MB, list: [{from: h0, to: h4}, {from: h1, to: h5}, {from: h2, to: h6}, {from: h3, to: h7}]}
`
	for _, c := range []struct {
		seed, times, rate     string
		ceiling, named, binds bool
	}{
		{"1", "from: 0s", "20Gbps", true, true, true}, {"2", "from: 0s", "20Gbps", true, true, true},
		{"3", "from: 0s", "15Gbps", true, true, true}, {"1", "from: 0s, until: 1s", "15Gbps", true, true, true},
		{"1", "from: 0s, until: 300us", "20Gbps", false, false, false}, {"1", "from: 0s", "90Gbps", true, false, false},
	} {
		r := runText(t, "seed: "+c.seed+strings.NewReplacer("TIMES", c.times, "RATE", c.rate).Replace(text))
		v := metrics.Summarise(r).Verdict
		if named := v != nil && strings.Contains(v.Text, "(its card took data only at ") ||
			v != nil && strings.Contains(v.Text, "h5's card took data only at "); named != c.named {
			t.Errorf("%+v: %+v", c, v)
		}
		_, all := metrics.Explain(r, 1) // h1 -> h5
		k := slices.IndexFunc(all.Limits, func(l metrics.Limit) bool { return l.Name == "card of h5" })
		if (k >= 0) != c.ceiling {
			t.Errorf("%+v: ceilings %+v", c, all.Limits)
		}
		if binds := all.Of.Kind == catalog.CauseFault || all.Reached; binds != c.binds {
			t.Errorf("%+v: %s", c, all.How)
		}
	}
}
