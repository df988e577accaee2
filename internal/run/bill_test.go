package run_test

import (
	"testing"

	"github.com/hopscope/hopscope/internal/units"
)

// The bill of a host has all that its queue pairs gave its application to do, by
// direction and cause, and no more.
func TestBillOfVerbs(t *testing.T) {
	v := parse(t, `
name: bill
topology: {star: {hosts: 3, link: {rate: 100Gbps, delay: 1us}}}
host: {preset: linux-xeon, repost: 70ns}
workload:
  - flow: {from: h0, to: h1, size: 4KB, verb: send, count: 5}
  - flow: {from: h2, to: h1, size: 4KB, count: 3}
`)
	r := simulate(t, v, 1, 1)
	byHost := map[string]units.Time{}
	for i := range r.QPs {
		byHost[r.QPs[i].Host] += r.QPs[i].CPUPS
	}
	want := map[string]map[string]units.Time{
		"h0": {"transmit post": 500_000, "transmit poll": 500_000, "transmit doorbell": 1_000_000},
		"h1": {"receive post": 350_000, "receive poll": 500_000},
		"h2": {"transmit post": 300_000, "transmit poll": 300_000, "transmit doorbell": 600_000},
	}
	if len(r.Processors) != len(want) {
		t.Fatalf("%d hosts have a bill, want %d", len(r.Processors), len(want))
	}
	for i := range r.Processors {
		p := &r.Processors[i]
		if p.TotalPS() != byHost[p.Host] {
			t.Errorf("%s: the bill has %d ps, its queue pairs %d", p.Host, p.TotalPS(), byHost[p.Host])
		}
		if p.BusyPS[0] != p.TotalPS() || len(p.BusyPS) != 1 {
			t.Errorf("%s: cores were busy for %v", p.Host, p.BusyPS)
		}
		for _, x := range p.Times {
			if got := want[p.Host][x.Direction+" "+x.Cause]; got != x.PS {
				t.Errorf("%s %s %s: %d ps, want %d", p.Host, x.Direction, x.Cause, x.PS, got)
			}
		}
		if len(p.Times) != len(want[p.Host]) {
			t.Errorf("%s: %d causes, want %d", p.Host, len(p.Times), len(want[p.Host]))
		}
	}
}
