package run_test

import (
	"testing"

	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/scenario"
	"github.com/hopscope/hopscope/internal/units"
)

// The tag's four bytes are on the wire of every frame: out and back over two
// links of 100 Gb/s (80 ps per byte) a message of one packet takes 4*4 bytes
// longer. A switch that trusts the tag puts data in the sender's priority,
// whatever its DSCP says.
func TestVLAN(t *testing.T) {
	const text = `
topology: {star: {hosts: 2, link: 100Gbps}}
workload:
  - flow: {from: h0, to: h1, size: 1000B, class: 3, dscp: 0}
`
	run := func(set ...string) *record.Run {
		v, err := scenario.Parse("vlan", []byte(text), set, nil)
		if err != nil {
			t.Fatal(err)
		}
		return runOf(t, v)
	}
	plain, tagged, trusted := run(), run("vlan=true"), run("vlan=true", "switch.trust=pcp")
	if got, want := tagged.Messages[0].CompletionPS-plain.Messages[0].CompletionPS, units.Time(4*4*80); got != want {
		t.Errorf("the tag costs %d ps, want %d", got, want)
	}
	for _, c := range []struct {
		r     *record.Run
		class int
	}{{plain, 0}, {tagged, 0}, {trusted, 3}} {
		for _, p := range c.r.Ports {
			if p.Node == "sw" && p.TxBytes > 500 && p.Class != c.class {
				t.Errorf("the switch sent the data in class %d, want %d", p.Class, c.class)
			}
		}
	}
}
