package run_test

import (
	"testing"

	"github.com/hopscope/hopscope/internal/scenario"
	"github.com/hopscope/hopscope/internal/units"
)

// TestSelectiveAccount: the last packet but one of ten is lost. What the message
// waits for is the NAK that the last one causes, a round trip of it, then the way
// of the packet sent again. 100 Gb/s: 80 ps per byte; frames of 4096+62+20 B on
// the wire, NAKs of 66+20 (models.md 4.5).
func TestSelectiveAccount(t *testing.T) {
	const text = `
noise: off
topology:
  hosts: [h0, h1]
  switches: [s]
  links:
    - {between: [h0, s], rate: 100Gbps, delay: 1us, drop_every: 9}
    - {between: [s, h1], rate: 100Gbps, delay: 1us}
switch: {latency: 300ns}
dcqcn: none
workload:
  - flow: {from: h0, to: h1, size: 40960B}
`
	const (
		frame, ack = 4178 * 80 * units.Picosecond, 86 * 80 * units.Picosecond
		first      = 16 * 80 * units.Picosecond // RETH
		path       = 2*units.Microsecond + 300*units.Nanosecond
	)
	for _, recovery := range []string{"selective-repeat", "irn"} {
		v, err := scenario.Parse("s.yaml", []byte(text), []string{"nic.recovery=" + recovery, "nic.window=none"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		r := simulate(t, v, 1, 1)
		got := map[string]units.Time{}
		for _, s := range r.Messages[0].Account.Stages() {
			got[s.Stage.String()] += s.Time
		}
		want := map[string]units.Time{
			"sending":                 9*frame + first,
			"awaiting NAK or timeout": 2*frame + path + 2*ack + path,
			"serialisation":           2 * frame,
			"propagation":             2 * units.Microsecond,
			"switch latency":          300 * units.Nanosecond,
			"ACK serialisation":       2 * ack,
			"ACK propagation":         2 * units.Microsecond,
			"ACK switch latency":      300 * units.Nanosecond,
		}
		for name, d := range want {
			if got[name] != d {
				t.Errorf("%s: %s %d ps, want %d", recovery, name, got[name], d)
			}
		}
		if len(got) != len(want) || r.QPs[0].Retransmitted != 1 {
			t.Errorf("%s: %v, %d sent again", recovery, got, r.QPs[0].Retransmitted)
		}
	}
}
