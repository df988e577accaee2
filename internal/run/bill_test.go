package run_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/record"
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

// What each core did adds up, by direction and cause, to the bill of its host, and
// per core to its time, in all ways to spread the work.
func TestBillByCore(t *testing.T) {
	for _, host := range []string{
		"preset: linux-xeon",
		"preset: linux-xeon, cores: 4, steering: rss, send: zerocopy",
		"preset: linux-xeon, numa: {sockets: 4, application: remote}, steering: rss",
		"preset: linux-xeon, busy_poll: true",
	} {
		r := simulate(t, parse(t, `
name: cores
stack: tcp
topology: {star: {hosts: 5, link: 25Gbps}}
host: {`+host+`}
workload:
  - incast: {from: [h1, h2, h3, h4], to: h0, size: 300KB, count: 2}
  - flow: {from: h0, to: h2, size: 50KB, stack: dctcp}
`), 1, 1)
		for i := range r.Processors {
			checkByCore(t, host, &r.Processors[i])
		}
		for i := range r.QPs {
			q := &r.QPs[i]
			if q.TCP.Cores == nil {
				t.Errorf("%s: %s has no cores", host, q.Name())
			}
		}
	}
}

func checkByCore(t *testing.T, host string, p *record.Processors) {
	t.Helper()
	sum := map[string]units.Time{}
	for _, c := range p.ByCore {
		var busy units.Time
		for _, x := range c.Times {
			sum[x.Direction+" "+x.Cause] += x.PS
			busy += x.PS
		}
		if busy != p.BusyPS[c.Core] || busy == 0 {
			t.Errorf("%s: core %d of %s has %d ps, was busy for %d", host, c.Core, p.Host, busy, p.BusyPS[c.Core])
		}
	}
	for _, x := range p.Times {
		if got := sum[x.Direction+" "+x.Cause]; got != x.PS {
			t.Errorf("%s: cores of %s have %d ps of %s %s, the host %d", host, p.Host, got, x.Direction, x.Cause, x.PS)
		}
		delete(sum, x.Direction+" "+x.Cause)
	}
	polls := slices.ContainsFunc(p.Times, func(x record.CPUTime) bool { return x.Cause == record.BusyPoll })
	if polls != strings.Contains(host, "busy_poll") {
		t.Errorf("%s: %s polls in vain: %v", host, p.Host, polls)
	}
	if len(sum) > 0 {
		t.Errorf("%s: the bill of %s lacks %v", host, p.Host, sum)
	}
}

// A run over TCP lasts until the last delayed acknowledgement, after the last
// completion. Cores that poll were busy all the time from the first post to the last
// completion and no longer; the others at most that long.
func TestBusyUpToTheLastCompletion(t *testing.T) {
	for _, poll := range []string{"false", "true"} {
		r := simulate(t, parse(t, `
name: calls
stack: tcp
topology: {star: {hosts: 2, link: 100Gbps}}
host: {preset: linux-xeon, busy_poll: `+poll+`}
workload: [{rpc: {between: [h0, h1], size: 100B, every: 2us, count: 1000}}]
`), 1, 1)
		last := r.LastCompletion()
		span := last - r.FirstPost()
		if r.EndPS < last+units.Millisecond || span > 20*units.Millisecond {
			t.Fatalf("completed at %v, ended at %v", last, r.EndPS)
		}
		for i := range r.Processors {
			c := &r.Processors[i].ByCore[0]
			spun := units.Time(0)
			for _, x := range c.Times {
				if x.Cause == record.BusyPoll {
					spun += x.PS
				}
			}
			if total := r.Processors[i].TotalPS(); c.InTimePS > span || c.InTimePS+spun >= total {
				t.Errorf("busy_poll %s: %s worked for %v and polled for %v of %v, %v in all", poll, r.Processors[i].Host, c.InTimePS, spun, span, total)
			}
			if poll == "true" && c.InTimePS+spun != span {
				t.Errorf("%s worked for %v and polled for %v of %v", r.Processors[i].Host, c.InTimePS, spun, span)
			}
		}
	}
}
