package run_test

import (
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/metrics"
)

// TestFilledInVain: a port that is full of what a silent failure has sent again and again is no cause of its own. The
// failure leads the verdict, whichever port the hashes fill; one that was soon over does not.
func TestFilledInVain(t *testing.T) {
	const text = `
stack: rocev2
nic: {timeout: 8}
topology: {leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 4, link: 100Gbps}, links: [{between: [leaf1, spine2],
  down: [{at: 100us, until: OVER, silent: true, lost_from: FROM}]}]}
workload:
  - flows: {name: p, size: 10MB, list: [{from: h0, to: h4}, {from: h1, to: h5}, {from: h2, to: h6}, {from: h3, to: h7}]}
`
	for _, c := range []struct {
		seed, from, over, full string // full: by what is sent again; "": no port
	}{
		{"1", "spine2", "300ms", "leaf1:5"}, {"3", "spine2", "300ms", "leaf1:6"}, {"4", "spine2", "300ms", "leaf1:6"},
		{"1", "leaf1", "300ms", ""}, {"1", "spine2", "110us", "soon over"},
	} {
		r := runText(t, "seed: "+c.seed+strings.NewReplacer("OVER", c.over, "FROM", c.from).Replace(text))
		v := metrics.Summarise(r).Verdict
		if v == nil {
			t.Errorf("%+v: none", c)
			continue
		}
		if failure := v.Kind == catalog.VerdictFailure; failure != (c.full != "soon over") {
			t.Errorf("%+v: %s", c, v.Text)
		} else if failure && (!strings.HasPrefix(v.Text, "leaf1:6 - spine2:1 failed") ||
			strings.Contains(v.Text, "sent again for that") != (c.full != "") || !strings.Contains(v.Text, c.full)) {
			t.Errorf("%+v: %s", c, v.Text)
		}
	}
}
