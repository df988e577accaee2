package run_test

import (
	"math"
	"strconv"
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

// IPv6's header is 20 bytes longer than IPv4's (RFC 8200, RFC 791), on the wire of every frame. Out and back over two
// links of 100 Gb/s (80 ps per byte), of a message of n packets the first link waits for n of them, and the second, and
// both that the acknowledgement takes, for one each.
func TestIPv6(t *testing.T) {
	run := func(text string, set ...string) *record.Run {
		v, err := scenario.Parse("ip", []byte(text), append(set, "noise=off"), nil)
		if err != nil {
			t.Fatal(err)
		}
		return runOf(t, v)
	}
	const star = "topology: {star: {hosts: 2, link: 100Gbps}}\nworkload:\n"
	for _, n := range []int{1, 300} {
		text := star + "  - flow: {from: h0, to: h1, size: " + strconv.Itoa(n*4096) + "B}\n"
		for _, tag := range []string{"vlan=false", "vlan=true"} {
			v4, v6 := run(text, tag, "ip=v4"), run(text, tag, "ip=v6")
			if got, want := v6.Messages[0].CompletionPS-v4.Messages[0].CompletionPS, units.Time((n+3)*20*80); got != want {
				t.Errorf("%d packets, %s: IPv6 costs %d ps, want %d", n, tag, got, want)
			}
			if got, want := v6.Messages[0].IdealPS-v4.Messages[0].IdealPS, units.Time((n+3)*20*80); got != want {
				t.Errorf("%d packets, %s: IPv6 costs %d ps of the ideal time, want %d", n, tag, got, want)
			}
		}
	}
	// A frame of 4,096 B of payload takes 82 B of headers and 20 B of preamble and gap: 97.57 % of a link are payload.
	r := run(star+"  - flow: {from: h0, to: h1, size: 40MB}\n", "ip=v6")
	if got, want := float64(40_000_000*8)/float64(r.Messages[0].CompletionPS)*1e3, 100*4096./4198; math.Abs(got/want-1) > 1e-3 {
		t.Errorf("goodput of %.3f Gb/s, want %.3f", got, want)
	}
	// TCP has 40 and 20 B of headers in an MTU of 1,500 B, 12 B of them more for timestamps.
	r = run(star+"  - flow: {from: h0, to: h1, size: 1440000B}\n", "ip=v6", "stack=tcp", "tcp.mtu=1500")
	if got := r.QPs[0].Limits.MTUBytes; got != 1500-40-20-12 && got != 1500-40-20 {
		t.Errorf("a segment carries %d B, want 1440 or, without room for time stamps, 1428", got)
	}
}
