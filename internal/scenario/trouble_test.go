package scenario

import (
	"strings"
	"testing"
)

// TestTroubleAsked: what is odd about faults is refused in a line or warned of with its consequence.
func TestTroubleAsked(t *testing.T) {
	const two = `
topology:
  leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 2, link: 100Gbps}
  links: LINKS
stop: 5ms
workload: [flow: {from: h0, to: h2, size: 2MB}]
`
	for _, c := range []struct{ name, links, set, refused, warned string }{
		{"after the stop", "[{between: [leaf1, spine1], down_at: 7ms}]", "", "",
			"the link leaf1 to spine1 fails at 7ms, which is never seen: the run stops at 5ms"},
		{"a switch after the stop", "[]", "switches.spine1={down: [{at: 7ms}]}", "",
			"the link leaf1 to spine1 fails at 7ms, which is never seen: the run stops at 5ms (and 1 more like it)"},
		{"a card after the stop", "[]", "hosts.h0={faults: [{hang: {from: 7ms}}]}", "",
			"h0: the fault hang from 7ms is never seen: the run stops at 5ms"},
		{"a card slower than its link brings", "[]", "hosts.h0={faults: [{slow: {from: 1ms, rate: 900Gbps}}]}", "",
			"h0: the fault slow at 900Gbps has no effect: its link brings no more than "},
		{"a card slower than it is anyway", "[]", "hosts.h0={drain_rate: 5Gbps, faults: [{slow: {from: 1ms, rate: 8Gbps}}]}", "",
			"h0: the fault slow at 8Gbps has no effect: drain_rate lets it take no more than 5Gbps"},
		{"overlapping outages", "[{between: [leaf1, spine1], down: [{at: 1ms, until: 2ms}, {at: 1500us}]}]", "",
			"let the next outage begin after that", ""},
		{"contradicting faults", "[]", "hosts.h0={faults: [{hang: {from: 1ms, until: 3ms}}, {slow: {from: 2ms, rate: 1Gbps}}]}",
			"overlaps another fault of the card that begins at 1ms", ""},
		{"a flap faster than its detection", "[{between: [leaf1, spine1], flap: {from: 1ms, every: 500us, down_for: 100us, times: 5}}]", "", "",
			"the link leaf1 to spine1 fails at 1ms for 100us, no longer than failover.detect, 1ms: nobody notices, nothing is " +
				"rerouted, and what takes it meanwhile is lost (and 4 more like it)"},
		{"polls longer than the detection", "[]", "switch.watchdog={poll: 400ms, detection: 200ms}", "",
			"leaf1: the watchdog polls every 400ms, longer than its detection time of 200ms; a storm is found at the first poll that " +
				"looks like one, up to 800ms after it began (and 3 more like it)"},
		{"a black hole on the only way", "[{between: [h0, leaf1], down: [{at: 10us, silent: true}]}]", "", "",
			"the link h0 to leaf1 is a black hole from 10us on and the only one to that port of a host: what takes it is lost, and " +
				"nobody notices"},
		{"black holes on all ways", "[{between: [leaf1, spine1], down: [{at: 1us, silent: true}]}, " +
			"{between: [leaf1, spine2], down: [{at: 1us, silent: true}]}]", "", "", "the links that fail leave no path from h0 to h2"},
		{"a storm that lapses for ever", "[]", "hosts.h0={faults: [{pauses: {from: 1ms, lapse: 58ms}}]}", "say until when the card pauses", ""},
		{"a lossy second class", "[]", "switch.bounce={3: 4}", "give pfc: {enabled: [3, 4]}", ""},
		{"no second class", "[]", "switch.bounce={3: 3}", "3 stays 3 anyway", ""},
		{"slots without weights", "[]", "switch.ecmp={slots: 12}", "", "switch.ecmp.slots has no effect: ports with equal shares have no table; give weights: path"},
		{"tables without failures", "[]", "switch.programming=1ms", "", "switch.programming has no effect: no link has a down_at"},
		{"slow news without failures", "[]", "failover.per_hop=1ms", "", "failover has no effect: no link has a down_at"},
		{"news that take too long", "[{between: [leaf1, spine1], down_at: 1ms}]", "failover.per_hop=1m", "failover.per_hop", ""},
	} {
		var set []string
		if c.set != "" {
			set = []string{c.set}
		}
		v, err := Parse("s.yaml", []byte(strings.Replace(two, "LINKS", c.links, 1)), set, nil)
		switch {
		case c.refused != "" && (err == nil || !strings.Contains(err.Error(), c.refused)):
			t.Errorf("%s: %v, want %q", c.name, err, c.refused)
		case c.refused == "" && err != nil:
			t.Errorf("%s: %v", c.name, err)
		case c.refused == "" && !strings.Contains(strings.Join(v.Warnings, "\n"), c.warned):
			t.Errorf("%s: warnings %q, want %q", c.name, v.Warnings, c.warned)
		}
	}
}
